"""The caches of a CPU, from sysfs only, since `getconf` answers zero in many virtual machines; and the fingerprint of a CPU with
its caches, to which a calibration belongs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from tilewright.records import record

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@record
class Cache:
    """One data or unified cache. `cpus` are the logical CPUs behind it; `associativity` is 0 where it is not told."""

    level: int
    size_bytes: int
    line_bytes: int
    associativity: int
    cpus: frozenset[int]


@record
class Fingerprint:
    """Everything that makes two CPUs differ in speed as far as a virtual machine lets it be seen; no clock, no name.

    `caches` are (level, size_bytes). Features are those left by TILEWRIGHT_MAX_ISA, since the peak depends on them.
    """

    architecture: str
    vendor: str
    family: str
    model: str
    stepping: str
    features: tuple[str, ...]
    caches: tuple[tuple[int, int], ...]

    @property
    def key(self) -> str:
        """A short digest, fit for a file name.

        >>> len(Fingerprint("x86_64", "", "6", "85", "7", ("avx2",), ((1, 32768),)).key)
        32
        """
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def caches(root: Path, cpu: int) -> tuple[Cache, ...]:
    """The data and unified caches of a logical CPU, nearest first; none where sysfs describes none.

    `root` holds `sys`. An entry that cannot be understood is left out.
    """
    directory = root / f"sys/devices/system/cpu/cpu{cpu}/cache"
    return tuple(sorted(_entries(directory, cpu), key=lambda cache: cache.level))


def cpu_list(text: str) -> frozenset[int]:
    """The numbers of a kernel CPU list.

    >>> sorted(cpu_list("0-2,8"))
    [0, 1, 2, 8]
    """
    ranges = [part.split("-") for part in text.strip().split(",") if part]
    return frozenset(cpu for bounds in ranges for cpu in range(int(bounds[0]), int(bounds[-1]) + 1))


def _entries(directory: Path, cpu: int) -> Iterator[Cache]:
    for index in sorted(directory.glob("index*")):
        with suppress(OSError, ValueError):
            if _field(index, "type") in ("Data", "Unified"):
                yield _cache(index, cpu)


def _cache(index: Path, cpu: int) -> Cache:
    size_bytes = _size(_field(index, "size"))
    if size_bytes <= 0:
        raise ValueError("a cache without a size")
    line_bytes, ways = _optional(index, "coherency_line_size") or 64, _optional(index, "ways_of_associativity")
    return Cache(int(_field(index, "level")), size_bytes, line_bytes, ways, cpu_list(_field(index, "shared_cpu_list")) | {cpu})


def _size(text: str) -> int:
    """
    >>> _size("48K"), _size("2M"), _size("512")
    (49152, 2097152, 512)
    """
    return int(text[:-1]) * UNITS[text[-1]] if text[-1:] in UNITS else int(text)


def _optional(index: Path, name: str) -> int:
    try:
        return int(_field(index, name))
    except (OSError, ValueError):
        return 0


def _field(index: Path, name: str) -> str:
    return (index / name).read_text(encoding="ascii").strip()
