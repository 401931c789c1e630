"""What this CPU executes, and the targets of random programs whose code it runs."""

from __future__ import annotations

from pathlib import Path

from tilewright.machine.features import permitted

NEEDED = {
    "x86-64-v2": frozenset({"ssse3", "sse4_1"}),
    "x86-64-v3": frozenset({"avx2", "fma"}),
    "x86-64-v4": frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq"}),
}
"""The features that code for a target uses, by names of /proc/cpuinfo."""


def cpu_flags() -> frozenset[str]:
    """What /proc/cpuinfo lists as flags (x86) or Features (AArch64) of the first core."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        label, _, names = line.partition(":")
        if label.strip() in ("flags", "Features"):
            return frozenset(names.split())
    return frozenset()


def executable_features() -> frozenset[str]:
    """The features of this CPU that the system lets programs use."""
    return permitted(cpu_flags())


def runnable_targets() -> tuple[str, ...]:
    """Those of `NEEDED` that this machine runs, the narrowest first."""
    flags = executable_features()
    return tuple(target for target, needed in NEEDED.items() if needed <= flags)


def onnxruntime_saturates() -> bool:
    """Whether onnxruntime's products by int8 add pairs in 16 bits, which saturate: its x86 kernels for CPUs without VNNI do.

    No pair leaves 16 bits where weights have 7 bits: 2 * 255 * 64 is 32640.
    """
    flags = executable_features()
    return "avx2" in flags and not flags & {"avx512_vnni", "avx_vnni"}
