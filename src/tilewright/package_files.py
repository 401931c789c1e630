"""Files and modules of this package, also where it is imported from a zip archive."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from importlib import import_module
from types import ModuleType

PACKAGE = os.path.dirname(__file__)
"""A directory, or a place inside of an archive."""
SOURCE_SUFFIXES = (".py", ".c", ".h", ".toml")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises `OSError`: `FileNotFoundError` where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except NotADirectoryError:
        return _archived(path)


def modules(package: str, without: Collection[str] = ()) -> tuple[ModuleType, ...]:
    """Every module below a package, imported, in the order of their names: what registers itself by being there.

    `without` are modules of the package itself that are left out.
    """
    import pkgutil  # 30 kB that a process which loads packages has no use for

    left_out = {f"{package}.{name}" for name in without}
    found = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    return tuple(import_module(name) for name in sorted({module.name for module in found} - left_out))


def module_names(package: str) -> tuple[str, ...]:
    """The modules and packages in a package, none imported, in the order of their names.

    >>> "c_cpu" in module_names("tilewright.backends")
    True
    """
    import pkgutil

    return tuple(sorted(module.name for module in pkgutil.iter_modules(import_module(package).__path__)))


def _archived(path: str | os.PathLike[str]) -> str:
    """The text of a file in the archive that this module is imported from; zipimport's errors have no number."""
    try:
        content: bytes = __spec__.loader.get_data(os.fspath(path))  # type: ignore[union-attr]  # importers of archives have it
    except OSError as problem:
        import errno

        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path)) from problem
    return content.decode()


def contents(package: str = PACKAGE) -> Iterator[tuple[str, bytes]]:
    """Names, inside of the package, and contents of the files of its code; those of its archive, if it is in one."""
    if os.path.isdir(package):
        yield from _contents_in(package, "")
        return
    while not os.path.isfile(package):
        package = os.path.dirname(package)
    with open(package, "rb") as archive:
        yield "", archive.read()


def _contents_in(directory: str, inside: str) -> Iterator[tuple[str, bytes]]:
    for entry in os.scandir(directory):
        if entry.is_dir():
            yield from _contents_in(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith(SOURCE_SUFFIXES):
            with open(entry.path, "rb", buffering=0) as file:
                yield f"{inside}{entry.name}", file.read()
