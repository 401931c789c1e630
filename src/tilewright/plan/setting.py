"""What a search is about: the coefficients of the price, and a chain on a machine with everything that no schedule changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilewright.graph.types import Access, Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine, MemoryLevel
from tilewright.plan.footprint import swept_elements
from tilewright.plan.kernel_choice import flops
from tilewright.plan.ranges import planned_sizes
from tilewright.plan.types import ContractionRoles

ELEMENT_BYTES = 4
"""Kernels compute in float32 so far; code generation refuses other types."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Every figure of the price that is not the machine's. Sources: measurements on AVX-512 servers, see docs/kernels.md."""

    l1_share: float = 0.65
    """Usable share of L1: above it packed tiles meet set conflicts (0.95 gave three times the predicted traffic)."""
    l2_share: float = 0.5
    """Usable share of the fusion level: the rest is for data that streams through."""
    visible_l1_traffic: float = 0.05
    """Share of the time of traffic into L1 that arithmetic does not hide."""
    visible_traffic: float = 0.25
    """The same for the levels behind it."""
    tile_end_cycles: float = 24.0
    """Call of a micro kernel, start and end of its tile, beyond what full tiles at depth 64 show."""
    block_cycles: float = 150.0
    """Loop control and addresses of one run of an operator on one block."""
    pass_cycles_per_vector: float = 1.5
    """One load, one operation and one store of a vector in a map or row operator."""
    function_cycles_per_vector: tuple[tuple[str, float], ...] = (
        ("exp", 5.0),
        ("log", 8.0),
        ("tanh", 9.0),
        ("erf", 12.0),
        ("sigmoid", 9.0),
        ("power", 16.0),
        ("sqrt", 8.0),
        ("divide", 5.0),
    )
    """Throughput cost of one vector; functions that are not listed cost `other_function_cycles`."""
    other_function_cycles: float = 0.5
    pack_cycles_per_vector: float = 2.0
    """Copying a vector that is contiguous in its source."""
    transpose_cycles_per_vector: float = 10.0
    """Gathering a vector of columns that are not contiguous in the source."""
    pages_at_hand: int = 64
    """Entries of the first-level data TLB (Intel Optimization Reference Manual, Skylake)."""
    page_cycles: float = 7.0
    """A page that only the second-level TLB knows (same source)."""
    call_s: float = 2e-6
    """From the user's call to the kernel."""
    equal_within: float = 1.01
    """Prices within this factor are equal: measured on AVX-512, blocks of 24 to 224 rows differ by less than timing noise."""
    worth_it: float = 1.02
    """What another loop, or reading an operand in place, must gain: below it the price cannot tell them apart."""


DEFAULT = Coefficients()


@dataclass(frozen=True, slots=True)
class Operand:
    """An access of an operator (equal reads are one), with what the formulas ask of it again and again."""

    access: Access
    axes: frozenset[str]
    is_write: bool
    is_intermediate: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """Chain, machine, the micro kernel and roles of every contraction, and the coefficients."""

    chain: Chain
    machine: Machine
    kernels: Mapping[str, MicroKernel]
    roles: Mapping[str, ContractionRoles]
    coefficients: Coefficients
    sizes: Mapping[str, int]
    operands: Mapping[str, tuple[Operand, ...]]
    """Of every operator: its reads, then its write."""
    compulsory_bytes: int
    """All inputs and the output, once."""
    arithmetic_s: float
    """Of all contractions at the machine's peak."""

    def walked(self, sizes: Mapping[str, Any]) -> Setting:
        """The setting of an operator that walks so many points along every axis: more than the extent where blocks overlap."""
        return self if sizes is self.sizes else replace(self, sizes=sizes)

    @property
    def cache_levels(self) -> tuple[MemoryLevel, ...]:
        """The levels with a size, nearest first."""
        return self.machine.levels[:-1]

    @property
    def fusion_position(self) -> int:
        """Where among the cache levels intermediates stay: L2, or the only cache."""
        return min(1, len(self.cache_levels) - 1)

    @property
    def fusion_level(self) -> MemoryLevel:
        """The level that intermediates stay in."""
        return self.cache_levels[self.fusion_position]

    @property
    def capacity_bytes(self) -> int:
        """What one core may use of the fusion level."""
        return int(self.coefficients.l2_share * self.fusion_level.size_bytes / self.fusion_level.shared_by_cores)

    @property
    def nearest_elements(self) -> float:
        """Elements that packed tiles may occupy in the level nearest to the core."""
        nearest = self.cache_levels[0]
        return self.coefficients.l1_share * nearest.size_bytes / nearest.shared_by_cores / ELEMENT_BYTES

    @property
    def vectors_per_element(self) -> float:
        """One over the elements of a vector."""
        return ELEMENT_BYTES * 8 / self.machine.vector_bits

    @property
    def pack_limit_bytes(self) -> int:
        """The largest packed operand that stays in the caches that one core can count on."""
        per_core = [level.size_bytes // level.shared_by_cores for level in self.cache_levels[1:]]
        return max([self.capacity_bytes // 2, *(size // 2 for size in per_core)])


def setting_of(
    chain: Chain,
    machine: Machine,
    kernels: Mapping[str, MicroKernel],
    roles: Mapping[str, ContractionRoles],
    coefficients: Coefficients,
) -> Setting:
    """The setting of a chain, with what is asked of it again and again computed once."""
    sizes = planned_sizes(chain)
    intermediates = frozenset(chain.intermediates)
    operands = {operator.name: _operands(operator, intermediates) for operator in chain.operators}
    arithmetic = sum(flops(chain.operator(name), sizes) for name in roles) / machine.peak("float32")
    return Setting(chain, machine, kernels, roles, coefficients, sizes, operands, compulsory_bytes(chain, sizes), arithmetic)


def compulsory_bytes(chain: Chain, sizes: Mapping[str, int]) -> int:
    """What is read of all inputs, and the output; a tensor that is read twice counts once."""
    elements: dict[str, int] = {}
    intermediates = frozenset(chain.intermediates)
    for operator in chain.operators:
        for access in (*operator.reads, operator.write):
            if access.tensor not in intermediates:
                count = int(swept_elements(access, sizes, sizes))
                elements[access.tensor] = max(elements.get(access.tensor, 0), count)
    return ELEMENT_BYTES * sum(elements.values())


def _operands(operator: Operator, intermediates: frozenset[str]) -> tuple[Operand, ...]:
    reads = [(access, False) for access in dict.fromkeys(operator.reads)]
    return tuple(
        Operand(access, access.axes(), is_write, access.tensor in intermediates)
        for access, is_write in (*reads, (operator.write, True))
    )
