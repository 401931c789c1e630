"""The limit on what a cache directory holds: the files that were not used for the longest time are removed.

A file is used when it is written or read; `touch` notes that as its time of modification (many file systems note no reading).
Processes do not tell each other what they write: each counts its own files, and looks at the directory now and then.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.records import record

SUFFIXES = (".so", ".o", ".planned", ".index", *(".artifact", ".plan"))
"""Of what counts and may go, at the end those of earlier releases, which nobody reads; what is known of compilers and of this CPU
is small and stays."""
KEPT_SHARE = 0.9
"""What is left of the limit when files are removed, so that not every new file removes one."""
FILES_BETWEEN_LOOKS = 64
SHARE_BETWEEN_LOOKS = 16
"""A look passes over all files: a process takes one after so many files of its own, in large directories after a share of all."""


@record
class Stored:
    """A file that may be removed."""

    path: Path
    size_bytes: int
    used_ns: int


@dataclass(slots=True)
class SizeLimit:
    """What one process knows of a directory's size."""

    directory: Path
    _bytes: int = 0
    _files_until_look: int = field(default=0, repr=False)

    def count(self, written: Path, size_bytes: int, limit_bytes: int, keep: Iterable[Path] = ()) -> None:
        """A file was written: remove others, but for those to `keep`, if there are too many now."""
        self._bytes += size_bytes
        self._files_until_look -= 1
        if self._bytes > limit_bytes or self._files_until_look < 0:
            found = stored(self.directory)
            self._bytes = sum(file.size_bytes for file in found)
            self._files_until_look = max(FILES_BETWEEN_LOOKS, len(found) // SHARE_BETWEEN_LOOKS)
        if self._bytes > limit_bytes:
            self._bytes -= sum(file.size_bytes for file in prune(self.directory, limit_bytes, keep=(written, *keep)))


def stored(directory: Path) -> list[Stored]:
    """Every file of the cache, in no order; none where there is no directory."""
    found = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIXES):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    found.append(Stored(Path(entry.path), status.st_size, status.st_mtime_ns))
    return found


def prune(directory: Path, limit_bytes: int, *, keep: Iterable[Path] = ()) -> list[Stored]:
    """Remove the files that were unused for longest, until a share of the limit is left; nothing below the limit.

    `keep` stays. Libraries that are loaded stay loaded without their files; who looked for a file before it went builds again.
    """
    files = stored(directory)
    left, kept = sum(file.size_bytes for file in files), set(keep)
    removed: list[Stored] = []
    if left <= limit_bytes:
        return removed
    for file in sorted((file for file in files if file.path not in kept), key=lambda file: file.used_ns):
        if left <= KEPT_SHARE * limit_bytes:
            break
        with contextlib.suppress(OSError):
            file.path.unlink()
            removed.append(file)
            left -= file.size_bytes
    return removed


def touch(path: Path) -> None:
    """Note that a file is used, where the directory can be written."""
    with contextlib.suppress(OSError):
        os.utime(path)
