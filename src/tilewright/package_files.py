"""Files and modules of this package, also where it is imported from a zip archive."""

from __future__ import annotations

import errno
import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parent
"""A directory, or a place inside of an archive."""
SOURCE_SUFFIXES = (".py", ".c", ".h", ".toml")


def read_text(path: Path) -> str:
    """The text of a file. Raises `OSError`: `FileNotFoundError` where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except NotADirectoryError:
        return _archived(path)


def modules(package: str) -> tuple[ModuleType, ...]:
    """Every module below a package, imported, in the order of their names: what registers itself by being there."""
    found = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    return tuple(import_module(name) for name in sorted(module.name for module in found))


def _archived(path: Path) -> str:
    """The text of a file in the archive that this module is imported from; zipimport's errors have no number."""
    try:
        content: bytes = __spec__.loader.get_data(str(path))  # type: ignore[union-attr]  # importers of archives have it
    except OSError as problem:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from problem
    return content.decode()


def statuses(package: Path = PACKAGE) -> Iterator[tuple[str, int, int]]:
    """Names, sizes in bytes and times in ns of the files of the package's code; of its archive, if it is in one."""
    if package.is_dir():
        yield from _statuses_in(str(package))
    else:
        archive = next(parent for parent in package.parents if parent.is_file())
        status = archive.stat()
        yield str(archive), status.st_size, status.st_mtime_ns


def _statuses_in(directory: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(directory):
        if entry.is_dir():
            yield from _statuses_in(entry.path)
        elif entry.name.endswith(SOURCE_SUFFIXES):
            status = entry.stat()
            yield entry.path, status.st_size, status.st_mtime_ns
