"""Files that other processes may read at any moment: private directories and atomic writes."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from tilewright.errors import CacheError

TUNING_DATABASE = "tuning.sqlite"
"""In the cache directory: `runtime/tuning/database.py`."""
TEMPORARY_SUFFIX = ".tmp"
ROOT = 0
"""The user whose files everybody trusts: of an image, or of an administrator."""


def check_private(directory: Path) -> None:
    """Create the directory (mode 0700) where it is missing; refuse one that another user, but for root, owns or may write to.

    Whoever writes there decides what this process executes. Raises `CacheError`, or `OSError` when it cannot be made.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_trusted(directory)


def check_trusted(directory: Path) -> None:
    """The same of a directory that exists. Raises `OSError` where it does not."""
    status = os.stat(directory)
    if status.st_uid not in (os.geteuid(), ROOT):
        why = f"it belongs to user {status.st_uid}, this process runs as user {os.geteuid()}"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = f"its mode {stat.S_IMODE(status.st_mode):04o} lets other users write to it"
    else:
        return
    raise CacheError(
        "the cache directory is not safe to load code from",
        where=str(directory),
        why=why,
        hint="chmod 700 it, or set TILEWRIGHT_CACHE_DIR to a directory of your own",
    )


def write_atomically(path: Path, content: bytes, check: Callable[[Path], None] = lambda path: None) -> None:
    """Write a whole file or none: temporary name in the same directory, `check` of the temporary file, rename.

    The disk is not waited for: readers find out by a checksum what a crash of the machine has cut off.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        check(temporary)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
