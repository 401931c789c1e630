"""Files and modules of this package, also where it is imported from a zip archive."""

from __future__ import annotations

import errno
import os
import pkgutil
from collections.abc import Collection, Iterator
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


def modules(package: str, without: Collection[str] = ()) -> tuple[ModuleType, ...]:
    """Every module below a package, imported, in the order of their names: what registers itself by being there.

    `without` are modules of the package itself that are left out.
    """
    left_out = {f"{package}.{name}" for name in without}
    found = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    return tuple(import_module(name) for name in sorted({module.name for module in found} - left_out))


def _archived(path: Path) -> str:
    """The text of a file in the archive that this module is imported from; zipimport's errors have no number."""
    try:
        content: bytes = __spec__.loader.get_data(str(path))  # type: ignore[union-attr]  # importers of archives have it
    except OSError as problem:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from problem
    return content.decode()


def contents(package: Path = PACKAGE) -> Iterator[tuple[str, bytes]]:
    """Names, inside of the package, and contents of the files of its code; those of its archive, if it is in one."""
    if package.is_dir():
        yield from _contents_in(str(package), "")
    else:
        yield "", next(parent for parent in package.parents if parent.is_file()).read_bytes()


def _contents_in(directory: str, inside: str) -> Iterator[tuple[str, bytes]]:
    for entry in os.scandir(directory):
        if entry.is_dir():
            yield from _contents_in(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith(SOURCE_SUFFIXES):
            with open(entry.path, "rb", buffering=0) as file:
                yield f"{inside}{entry.name}", file.read()
