"""Description of a CPU for the planner: instructions, registers, cores, and memory levels with their bandwidths."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Source(Enum):
    """Where a figure came from."""

    MEASURED = "measured"
    DETECTED = "detected"
    DATASHEET = "datasheet"


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """One level of the memory hierarchy, nearest first; the last one is main memory with `size_bytes` of 0 (unbounded)."""

    name: str
    size_bytes: int
    line_bytes: int
    bandwidth_bytes_per_s: float
    """Read bandwidth of one core from this level."""
    shared_by_cores: int
    """How many of the machine's cores have this level in common."""
    associativity: int
    source: Source
    """Of the bandwidth."""
    size_source: Source = Source.DATASHEET
    """Of the size, line, associativity and sharing."""


@dataclass(frozen=True, slots=True)
class Description:
    """The figures of a CPU that decide a plan. All rates are those of one core."""

    name: str
    architecture: str
    """As in `platform.machine()`: x86_64, aarch64, ppc64le."""
    features: frozenset[str]
    """Names as in /proc/cpuinfo: avx2, fma, avx512f, ..."""
    cores: int
    vector_bits: int
    vector_registers: int
    fma_per_cycle: int
    """Full-width multiply-adds that one core starts per cycle."""
    frequency_hz: float
    peak_flops_per_s: tuple[tuple[str, float], ...]
    """Attainable flops per second of one core's vector units, by element type: (("float32", 1.8e11), ...).

    Matrix units (AMX, MMA) are not counted."""
    parallel_region_s: float
    """Cost of an empty parallel region over all cores."""
    levels: tuple[MemoryLevel, ...]
    peak_source: Source
    frequency_source: Source = Source.DATASHEET
    parallel_region_source: Source = Source.DATASHEET

    def peak(self, dtype: str) -> float:
        """Attainable flops per second of one core for products of an element type, signed or not.

        A type without a rate in `peak_flops_per_s` has that of the lanes that it is widened to: of 64 bits or of 32.

        >>> from tilewright.machine import Machine
        >>> machine = Machine.named("x86-64-v3")
        >>> machine.peak("uint8") == machine.peak("float32") == 2 * machine.peak("int64") > 1e10
        True
        """
        rates = dict(self.peak_flops_per_s)
        widened = "float64" if dtype.endswith("64") else "float32"
        return rates.get(dtype.removeprefix("u"), rates[widened])

    def level(self, name: str) -> MemoryLevel:
        """The memory level of that name (L1, L2, L3, memory); `StopIteration` where there is none.

        >>> from tilewright.machine import Machine
        >>> Machine.named("cascadelake-6240").level("L2").size_bytes
        1048576
        """
        return next(level for level in self.levels if level.name == name)
