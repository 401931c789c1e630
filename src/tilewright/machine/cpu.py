"""A CPU as Linux shows it: identity and features, from /proc/cpuinfo (cpuid, HWCAP and the device tree).

Names of microarchitectures are not used: virtual machines hide them, and features decide what may be executed.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

from tilewright.machine import isa
from tilewright.records import record

POWER_FEATURES = {
    8: frozenset({"altivec", "vsx", "arch_2_07"}),
    9: frozenset({"altivec", "vsx", "arch_2_07", "arch_3_00"}),
    10: frozenset({"altivec", "vsx", "arch_2_07", "arch_3_00", "arch_3_1", "mma"}),
}
"""By generation: /proc/cpuinfo of ppc64le has no feature line. The names are those of HWCAP."""


@record
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


def read(root: str | os.PathLike[str], architecture: str) -> CpuInfo:
    """The first processor of `<root>/proc/cpuinfo`; all fields empty where the file cannot be read."""
    fields = _first_block(os.path.join(root, "proc/cpuinfo"))
    reader = {"aarch64": _aarch64, "ppc64le": _ppc64le}.get(architecture, _x86_64)
    return reader(architecture, fields)


def _first_block(path: str) -> Mapping[str, str]:
    """The `key : value` lines, each key's first value: ppc64le puts some keys after the last processor. "" for other keys."""
    fields: dict[str, str] = defaultdict(str)
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as lines:
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
