"""The CPU's identity and features, from /proc/cpuinfo: the kernel's view of cpuid, HWCAP and the device tree.

Names of microarchitectures are not used: virtual machines hide them, and features decide what may be executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tilewright.machine import isa

POWER_FEATURES = {
    8: frozenset({"altivec", "vsx", "arch_2_07"}),
    9: frozenset({"altivec", "vsx", "arch_2_07", "arch_3_00"}),
    10: frozenset({"altivec", "vsx", "arch_2_07", "arch_3_00", "arch_3_1", "mma"}),
}
"""By generation: /proc/cpuinfo of ppc64le has no feature line. The names are those of HWCAP."""


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


def read(root: Path, architecture: str) -> CpuInfo:
    """The first processor of `<root>/proc/cpuinfo`; all fields empty where the file cannot be read."""
    fields = _first_block(root / "proc/cpuinfo")
    reader = {"aarch64": _aarch64, "ppc64le": _ppc64le}.get(architecture, _x86_64)
    return reader(architecture, fields)


def _first_block(path: Path) -> dict[str, str]:
    """The `key : value` lines, each key's first value: ppc64le puts some keys after the last processor."""
    fields: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, separator, value = line.partition(":")
                if separator:
                    fields.setdefault(key.strip(), value.strip())
    except OSError:
        return {}
    return fields


def _x86_64(architecture: str, fields: dict[str, str]) -> CpuInfo:
    flags = frozenset(fields.get("flags", "").split())
    return CpuInfo(
        architecture,
        fields.get("vendor_id", ""),
        fields.get("cpu family", ""),
        fields.get("model", ""),
        fields.get("stepping", ""),
        fields.get("model name", ""),
        isa.instructions(architecture, flags),
        _megahertz(fields.get("cpu MHz", "")),
    )


def _aarch64(architecture: str, fields: dict[str, str]) -> CpuInfo:
    part = fields.get("CPU part", "")
    return CpuInfo(
        architecture,
        fields.get("CPU implementer", ""),
        fields.get("CPU architecture", ""),
        part,
        f"{fields.get('CPU variant', '')}.{fields.get('CPU revision', '')}",
        fields.get("model name", f"AArch64 implementer {fields.get('CPU implementer', '?')} part {part or '?'}"),
        isa.instructions(architecture, frozenset(fields.get("Features", "").split())),
        None,
    )


def _ppc64le(architecture: str, fields: dict[str, str]) -> CpuInfo:
    name = fields.get("cpu", "")
    generation = re.match(r"POWER(\d+)", name)
    number = min(int(generation[1]), max(POWER_FEATURES)) if generation else min(POWER_FEATURES)
    return CpuInfo(
        architecture,
        "IBM",
        generation[0] if generation else "",
        name,
        fields.get("revision", ""),
        name,
        POWER_FEATURES.get(number, POWER_FEATURES[8]),
        _megahertz(fields.get("clock", "")),
    )


def _megahertz(text: str) -> float | None:
    number = re.match(r"\d+(\.\d+)?", text)
    return float(number[0]) * 1e6 if number and float(number[0]) > 0 else None
