"""Files beside a model that hold its large tensors: only regular files inside the model's own directory are read."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.large_fields import LARGE_BYTES


class ExternalFiles:
    """The files of one model, each mapped into memory when it is first asked for.

    They are read from disk where their large contents are looked at, so that whoever looks later asks `check` first.
    """

    def __init__(self, directory: Path | None) -> None:
        """`directory` of the model; None if the model did not come from a file."""
        self._directory = directory
        self._maps: dict[str, memoryview] = {}
        self._open: list[tuple[IO[bytes], _State]] = []
        """As they were when they were mapped."""

    def mapped(self, path: str | Path) -> memoryview:
        """The content of any file. Raises `OSError`."""
        file = open(path, "rb")  # noqa: SIM115  # for `check`, as long as the model lives
        self._open.append((file, _state(file)))
        content: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if _state(file).size_bytes else b""
        return memoryview(content)

    def check(self) -> None:
        """Raise `InvalidModel` if a file was written to since it was mapped; others may take its place."""
        for file, state in self._open:
            if _is_written(_state(file), state):
                hint = "make a new session, or write changed models to other files"
                raise InvalidModel(f"{file.name} has changed since the session was made", where=str(file.name), hint=hint)

    def content(self, entries: Mapping[str, str], size_bytes: int, where: str) -> memoryview:
        """The bytes of a tensor. Raises `InvalidModel` for places outside of the directory and ranges outside of the file."""
        whole = self._map(entries.get("location", ""), where)
        offset = _number(entries, "offset", 0, where)
        length = _number(entries, "length", size_bytes, where)
        if length != size_bytes:
            raise InvalidModel(f"{where} has {length} bytes of external data", where=where, why=f"its shape needs {size_bytes}")
        if offset + length > len(whole):
            why = f"it has {len(whole)} bytes, and {offset + length} are needed"
            raise InvalidModel(f"the file {entries['location']!r} of external data is too short", where=where, why=why)
        content = whole[offset : offset + length]
        return content if length >= LARGE_BYTES else memoryview(bytes(content))

    def _map(self, location: str, where: str) -> memoryview:
        path = self._path(location, where)
        if path not in self._maps:
            try:
                self._maps[path] = self.mapped(path)
            except OSError as problem:
                raise InvalidModel(f"external data {location!r} cannot be read", where=where, why=str(problem)) from problem
        return self._maps[path]

    def _path(self, location: str, where: str) -> str:
        if self._directory is None:
            hint = "pass the model's path, beside which these files are"
            raise InvalidModel("the model has external data, but did not come from a file", where=where, hint=hint)
        base = os.path.realpath(self._directory)
        if not location or "\0" in location or os.path.isabs(location) or ".." in Path(location).parts:
            why = "a place must be a relative path inside the directory of the model"
            raise InvalidModel(f"external data {location!r} is refused", where=where, why=why)
        path = os.path.realpath(os.path.join(base, location))
        if os.path.commonpath([base, path]) != base:
            why = "a link leads out of the directory of the model"
            raise InvalidModel(f"external data {location!r} is refused", where=where, why=why)
        if not os.path.isfile(path):
            raise InvalidModel(f"there is no file {location!r} of external data", where=where, why=f"looked for in {base}")
        return path


class _State(NamedTuple):
    """What a file's system says of it."""

    size_bytes: int
    written_ns: int
    """Which who writes may set back."""
    changed_ns: int
    links: int


def _state(file: IO[bytes]) -> _State:
    status = os.fstat(file.fileno())
    return _State(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink)


def _is_written(now: _State, before: _State) -> bool:
    """A file that another replaces loses a link, which changes it, too, but nothing of its content."""
    return now[:2] != before[:2] or (now.changed_ns != before.changed_ns and now.links == before.links)


def _number(entries: Mapping[str, str], key: str, default: int, where: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidModel(f"the {key} of external data cannot be {text[:40]!r}", where=where)
    return int(text)
