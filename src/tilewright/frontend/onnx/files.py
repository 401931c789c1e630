"""Files of a model, read without copying its weights: large contents of tensors stay where they are, in mapped files.

A model is protobuf: fields, each a key (number and wire type) and a value. Contents of initializers are at
`ModelProto.graph` (7) / `GraphProto.initializer` (5) / `TensorProto.raw_data` (9). These are cut out, and the rest, which is
small, goes through the ordinary parser. Wire format: protobuf.dev/programming-guides/encoding.

Files beside a model that hold its large tensors: only regular files inside the model's own directory are read.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tilewright.errors import InvalidModel
from tilewright.ort_errors import InvalidProtobuf, NoSuchFile

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
LARGE_BYTES = 4096
"""Contents from this size on stay in the file."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
PLACEHOLDER = b"\x4a\x00"
"""A `raw_data` of no bytes."""


def without_large_contents(content: memoryview) -> tuple[bytes, list[memoryview | None]]:
    """The model without large contents of its initializers, and these in the order of the initializers; None for small ones.

    Raises `InvalidProtobuf` for what is cut off. What looks odd in another way is left to the parser.
    """
    found: list[memoryview | None] = []
    return _without(content, (GRAPH, INITIALIZER, RAW_DATA), found), found


def _without(content: memoryview, path: Sequence[int], found: list[memoryview | None]) -> bytes:
    """A message without the large contents of fields at the end of a path; `found` has the last one of every initializer."""
    inside, *rest = path
    parts: list[bytes | memoryview] = []
    for number, whole, value in _fields(content):
        if number != inside or value is None:
            parts.append(whole)
        elif rest:
            found += [None] if inside == INITIALIZER else []
            parts.append(_field(number, _without(value, rest, found)))
        elif len(value) >= LARGE_BYTES:
            found[-1] = value
            parts.append(PLACEHOLDER)
        else:
            parts.append(whole)
    return b"".join(parts)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | LENGTH) + _varint(len(content)) + content


def _fields(content: memoryview) -> Iterator[tuple[int, memoryview, memoryview | None]]:
    """Number, whole text and, of those with a length, value of every field."""
    position = 0
    while position < len(content):
        key, start = _read_varint(content, position)
        wire = key & 7
        value = None
        if wire == LENGTH:
            length, start = _read_varint(content, start)
            end = start + length
            value = content[start:end]
        elif wire == VARINT:
            _, end = _read_varint(content, start)
        elif wire in (FIXED64, FIXED32):
            end = start + (8 if wire == FIXED64 else 4)
        else:
            raise _damaged(f"a field of wire type {wire}")
        if end > len(content):
            raise _damaged("a field ends behind the end")
        yield key >> 3, content[position:end], value
        position = end


def _read_varint(content: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(content) and shift < 64:
        byte = content[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
    raise _damaged("a number is cut off")


def _varint(value: int) -> bytes:
    """A number, seven bits a byte, the lowest first.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def _damaged(why: str) -> InvalidProtobuf:
    return InvalidProtobuf("this is no ONNX model, or a damaged one", where="protobuf", why=why)


@dataclass(slots=True)
class Content:
    """The bytes of a model, and the files beside it."""

    whole: memoryview
    where: str
    files: ExternalFiles

    def hold(self, copy: Callable[[memoryview], memoryview]) -> None:
        """Go on without any file, with copies of what was mapped."""
        self.whole = copy(self.whole)
        self.files.hold(copy)


def opened(source: Any) -> Content | None:
    """The content of a path or of bytes, which is not copied; None for anything else.

    Raises `NoSuchFile`, or `InvalidProtobuf` for what cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Content(memoryview(source if isinstance(source, bytes) else bytes(source)), "bytes", ExternalFiles(None))
    if not isinstance(source, (str, os.PathLike)):
        return None
    path, files = Path(source), ExternalFiles(Path(source).parent)
    try:
        return Content(files.mapped(path), str(path), files)
    except OSError as problem:
        kind = NoSuchFile if isinstance(problem, FileNotFoundError) else InvalidProtobuf
        raise kind(f"{path} cannot be read", where=str(path), why=str(problem)) from problem


class ExternalFiles:
    """The files of one model, each mapped into memory when it is first asked for.

    They are read from disk where their large contents are looked at, so that whoever looks later asks `check` first.
    """

    def __init__(self, directory: Path | None) -> None:
        """`directory` of the model; None if the model did not come from a file."""
        self._directory = directory
        self.contents: dict[str, memoryview] = {}
        """By place, of those that were asked for."""
        self._open: list[tuple[IO[bytes], os.stat_result]] = []
        """As they were when they were mapped."""

    def mapped(self, path: str | Path) -> memoryview:
        """The content of any file. Raises `OSError`."""
        file = open(path, "rb")  # noqa: SIM115  # for `check`, as long as the model lives
        state = os.fstat(file.fileno())
        self._open.append((file, state))
        content: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if state.st_size else b""
        return memoryview(content)

    def check(self) -> None:
        """Raise `InvalidModel` if a file was written to since it was mapped; others may take its place."""
        for file, state in self._open:
            if _is_written(os.fstat(file.fileno()), state):
                hint = "make a new session, or write changed models to other files"
                raise InvalidModel(f"{file.name} has changed since the session was made", where=str(file.name), hint=hint)

    def hold(self, copy: Callable[[memoryview], memoryview]) -> None:
        """Go on without the files, with copies of their contents."""
        self.contents = {location: copy(content) for location, content in self.contents.items()}
        self._open.clear()

    def content(self, entries: Mapping[str, str], size_bytes: int, where: str) -> memoryview:
        """The bytes of a tensor. Raises `InvalidModel` for places outside of the directory and ranges outside of the file."""
        whole = self.at(entries.get("location", ""), where)
        offset = _number(entries, "offset", 0, where)
        length = _number(entries, "length", size_bytes, where)
        if length != size_bytes:
            raise InvalidModel(f"{where} has {length} bytes of external data", where=where, why=f"its shape needs {size_bytes}")
        if offset + length > len(whole):
            why = f"it has {len(whole)} bytes, and {offset + length} are needed"
            raise InvalidModel(f"the file {entries['location']!r} of external data is too short", where=where, why=why)
        content = whole[offset : offset + length]
        return content if length >= LARGE_BYTES else memoryview(bytes(content))

    def at(self, location: str, where: str) -> memoryview:
        """The whole content of a place beside the model. Raises `InvalidModel` as `content`."""
        if location not in self.contents:
            path = self._path(location, where)
            try:
                self.contents[location] = self.mapped(path)
            except OSError as problem:
                raise InvalidModel(f"external data {location!r} cannot be read", where=where, why=str(problem)) from problem
        return self.contents[location]

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


def _is_written(now: os.stat_result, before: os.stat_result) -> bool:
    """A file that another replaces loses a link, which changes it, too, but nothing of its content.

    Times of the last change are those of the file system: who writes may set back the other ones.
    """
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        return True
    return now.st_ctime_ns != before.st_ctime_ns and now.st_nlink == before.st_nlink


def _number(entries: Mapping[str, str], key: str, default: int, where: str) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidModel(f"the {key} of external data cannot be {text[:40]!r}", where=where)
    return int(text)
