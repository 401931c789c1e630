"""Description of a machine for the planner: instructions, registers, cores, and memory levels with capacities and bandwidths."""

from __future__ import annotations

from enum import Enum

from tilewright.machine import isa
from tilewright.machine.accelerator import Accelerator
from tilewright.machine.sources import Source as Source
from tilewright.records import record

CPU = "cpu"
"""The device of every machine that does not name another one."""

NEAREST_SHARE = 0.65
"""Of the nearest cache: above it packed tiles meet set conflicts (0.95 gave three times the predicted traffic into L1)."""
FARTHER_SHARE = 0.5
"""Of the caches behind it: the rest is for data that streams through."""


class Filling(Enum):
    """Who decides what a memory level holds."""

    CACHE = "cache"
    """Hardware replaces lines: blocks share the level with data that passes by, and lines of one set displace each other."""
    SOFTWARE = "software"
    """Generated code places blocks, byte for byte: they may fill the level, and nothing else displaces them."""


@record
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
    usable_share: float = FARTHER_SHARE
    """Share of the size that blocks of a plan may occupy, as the function `usable_share` says."""
    filling: Filling = Filling.CACHE

    @property
    def usable_bytes(self) -> float:
        """Room for the blocks of a plan, of all cores that share the level.

        >>> from tilewright.machine import Machine
        >>> Machine.named("cascadelake-6240").level("L2").usable_bytes
        524288.0
        """
        return self.usable_share * self.size_bytes

    @property
    def sets(self) -> int:
        """Sets of lines that displace each other; 1 where they do not."""
        if self.filling is Filling.SOFTWARE:
            return 1
        return max(self.size_bytes // (self.line_bytes * max(self.associativity, 1)), 1)


def usable_share(filling: Filling, is_nearest: bool) -> float:
    """The share of a memory level that blocks may occupy."""
    if filling is Filling.SOFTWARE:
        return 1.0
    return NEAREST_SHARE if is_nearest else FARTHER_SHARE


@record
class Description:
    """The figures of a machine that decide a plan. All rates are those of one core."""

    name: str
    architecture: str
    """As in `platform.machine()`: x86_64, aarch64, ppc64le."""
    features: frozenset[str]
    """Names as in /proc/cpuinfo: avx2, fma, avx512f, ..."""
    cores: int
    vector_bits: int
    """0, as the next two, of machines with an accelerator, which have no vectors."""
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
    fma_latency_cycles: int = 4
    """From the start of a multiply-add to the start of one that needs its result: 4 on Intel cores since Skylake, on AMD's since
    Zen 3 (agner.org, Instruction tables), and on Neoverse V1 and V2 (Software Optimization Guides)."""
    loads_per_cycle: int = 2
    """Full-width vector loads that one core starts per cycle."""
    page_bytes: int = 4096
    """Of ordinary pages, which prefetchers of the hardware do not cross."""
    tlb_entries: int = 64
    """Pages that the first-level data TLB holds: 64 on Intel cores from Haswell to Ice Lake (Intel Optimization Reference
    Manual). The price is fitted with this figure."""
    fusion_level: str = ""
    """The level in which chains keep their intermediates; "" for the second, or the only one."""
    second_tlb_entries: int = 2048
    """Pages that the second level of the TLB holds: 1536 to 4096 on x86 servers. On Zen 3 with 2048, 37x8461x2557 with all 2557
    rows in place took 115 ms, in blocks of 64 steps 41: 30 cycles a row at every call."""
    device: str = CPU
    """What executes generated code; it decides the backend (`backends/`)."""
    fitted: tuple[tuple[str, float], ...] = ()
    """Coefficients of the price by name, as `tilewright tune --fit` found them on such a CPU; without any, its family's count."""
    accelerator: Accelerator | None = None
    """The units, spaces and limits of a core that generated code of another kind fills; None for CPUs."""

    @property
    def line_bytes(self) -> int:
        """The cache line that rows are padded by, and that cores exchange."""
        return self.levels[0].line_bytes

    @property
    def notable_features(self) -> tuple[str, ...]:
        """The features that decide most of a plan, for people."""
        return tuple(name for name in isa.NOTABLE if name in self.features)

    def lanes(self, element_bytes: int) -> int:
        """Elements of so many bytes in a vector; 1 without vectors."""
        return max(1, self.vector_bits // (8 * element_bytes))

    def peak(self, dtype: str) -> float:
        """Attainable flops per second of one core for products of an element type, signed or not.

        A type without a rate in `peak_flops_per_s` has that of the lanes that it is widened to: of 64 bits or of 32.

        >>> from tilewright.machine import Machine
        >>> machine = Machine.named("x86-64-v3")
        >>> machine.peak("uint32") == machine.peak("float32") == 2 * machine.peak("int64") > 1e10
        True
        """
        rates = dict(self.peak_flops_per_s)
        widened = "float64" if dtype.endswith("64") else "float32"
        return rates.get(dtype.removeprefix("u"), rates.get(widened, rates["float32"]))

    def highest_peak(self, dtype: str) -> float:
        """The same of the fastest unit that kernels use, vector or matrix unit.

        >>> from tilewright.machine import Machine
        >>> machine = Machine.named("power10")
        >>> machine.highest_peak("float32") / machine.peak("float32")
        2.0
        """
        if self.accelerator is not None:
            rates = (unit.flops_per_cycle * self.frequency_hz for unit in self.accelerator.units_for(dtype))
            return max(rates, default=self.peak(dtype))
        return self.peak(dtype) * isa.matrix_unit_gain(self.features, dtype)

    @property
    def fusion_position(self) -> int:
        """Where among the levels chains keep their intermediates.

        >>> from tilewright.machine import Machine
        >>> Machine.named("cascadelake-6240").fusion_position
        1
        """
        named = [position for position, level in enumerate(self.levels) if level.name == self.fusion_level]
        return named[0] if named else min(1, len(self.levels) - 2)

    def level(self, name: str) -> MemoryLevel:
        """The memory level of that name (L1, L2, L3, memory); `StopIteration` where there is none.

        >>> from tilewright.machine import Machine
        >>> Machine.named("cascadelake-6240").level("L2").size_bytes
        1048576
        """
        return next(level for level in self.levels if level.name == name)
