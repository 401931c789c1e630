"""A CPU as Linux shows it: identity and features, from /proc/cpuinfo (cpuid, HWCAP and the device tree); caches, from sysfs
only, since `getconf` answers zero in many virtual machines; and the fingerprint of both, to which a calibration belongs.

Names of microarchitectures are not used: virtual machines hide them, and features decide what may be executed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tilewright.machine import isa

POWER_FEATURES = {
    8: frozenset({"altivec", "vsx", "arch_2_07"}),
    9: frozenset({"altivec", "vsx", "arch_2_07", "arch_3_00"}),
    10: frozenset({"altivec", "vsx", "arch_2_07", "arch_3_00", "arch_3_1", "mma"}),
}
"""By generation: /proc/cpuinfo of ppc64le has no feature line. The names are those of HWCAP."""
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """What identifies a CPU. `frequency_hz` is None where the kernel does not say."""

    architecture: str
    vendor: str
    family: str
    model: str
    stepping: str
    model_name: str
    features: frozenset[str]
    frequency_hz: float | None


@dataclass(frozen=True, slots=True)
class Cache:
    """One data or unified cache. `cpus` are the logical CPUs behind it; `associativity` is 0 where it is not told."""

    level: int
    size_bytes: int
    line_bytes: int
    associativity: int
    cpus: frozenset[int]


@dataclass(frozen=True, slots=True)
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


def read(root: Path, architecture: str) -> CpuInfo:
    """The first processor of `<root>/proc/cpuinfo`; all fields empty where the file cannot be read."""
    fields = _first_block(root / "proc/cpuinfo")
    reader = {"aarch64": _aarch64, "ppc64le": _ppc64le}.get(architecture, _x86_64)
    return reader(architecture, fields)


def _first_block(path: Path) -> Mapping[str, str]:
    """The `key : value` lines, each key's first value: ppc64le puts some keys after the last processor. "" for other keys."""
    fields: dict[str, str] = defaultdict(str)
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        for key, separator, value in (line.partition(":") for line in lines):
            if separator:
                fields.setdefault(key.strip(), value.strip())
    return fields


def _x86_64(architecture: str, fields: Mapping[str, str]) -> CpuInfo:
    keys = ("vendor_id", "cpu family", "model", "stepping", "model name")
    vendor, family, model, stepping, name = (fields[key] for key in keys)
    features = isa.instructions(architecture, frozenset(fields["flags"].split()))
    return CpuInfo(architecture, vendor, family, model, stepping, name, features, _megahertz(fields["cpu MHz"]))


def _aarch64(architecture: str, fields: Mapping[str, str]) -> CpuInfo:
    implementer, part = fields["CPU implementer"], fields["CPU part"]
    stepping = f"{fields['CPU variant']}.{fields['CPU revision']}"
    name = fields["model name"] or f"AArch64 implementer {implementer or '?'} part {part or '?'}"
    features = isa.instructions(architecture, frozenset(fields["Features"].split()))
    return CpuInfo(architecture, implementer, fields["CPU architecture"], part, stepping, name, features, None)


def _ppc64le(architecture: str, fields: Mapping[str, str]) -> CpuInfo:
    name, generation = fields["cpu"], re.match(r"POWER(\d+)", fields["cpu"])
    number = min(int(generation[1]), max(POWER_FEATURES)) if generation else min(POWER_FEATURES)
    features = POWER_FEATURES.get(number, POWER_FEATURES[8])
    family = generation[0] if generation else ""
    return CpuInfo(architecture, "IBM", family, name, fields["revision"], name, features, _megahertz(fields["clock"]))


def _megahertz(text: str) -> float | None:
    number = re.match(r"\d+(\.\d+)?", text)
    return float(number[0]) * 1e6 if number and float(number[0]) > 0 else None


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
