"""Libraries that lie in packages: loaded from memory, where the system allows that, else from a temporary file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from itertools import count

from tilewright.runtime import loader
from tilewright.runtime.loader import Library
from tilewright.runtime.packages.layout import refused

_numbers = count()


def loaded(content: bytes, exported: Sequence[str], kind: type[Library], package: str) -> Library:
    """Load a library. It needs no directory to write to where Linux has `memfd_create` and /proc; else one that `tempfile` finds.

    Raises `InvalidPackage` where it cannot be loaded, or lacks names.
    """
    with contextlib.suppress(OSError, AttributeError):
        return _from_memory(content, exported, kind)
    import tempfile  # 5 ms, and mostly not needed

    try:
        with tempfile.NamedTemporaryFile(prefix="tilewright-", suffix=".so") as file:
            file.write(content)
            file.flush()
            return loader.load_exporting(file.name, exported, kind)
    except OSError as problem:
        hint = "set TMPDIR to a directory that can be written and executed from"
        raise refused(package, f"its code cannot be loaded: {problem}", hint) from problem


def _from_memory(content: bytes, exported: Sequence[str], kind: type[Library]) -> Library:
    descriptor = os.memfd_create("tilewright")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        return loader.load_exporting(_path(descriptor), exported, kind)
    finally:
        os.close(descriptor)


def _path(descriptor: int) -> str:
    """A path of an open file that was never used: the dynamic loader takes equal paths for equal libraries.

    The bits of a number stand between its parts as `/` and `/.`: descriptors are used again.
    """
    return f"/proc/self{''.join('/.' if bit == '1' else '/' for bit in f'{next(_numbers):b}')}/fd/{descriptor}"
