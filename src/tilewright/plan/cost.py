"""What a plan costs: few named coefficients, and the work of every operator under a schedule (or a family of them).

price = per operator the largest of arithmetic (or memory-intensive functions) and the traffic into each level, plus what of the
traffic stays visible, packing, block and call overheads. All of it is for one call on one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from tilewright.graph.scalar import Apply, subexpressions
from tilewright.graph.types import Access, Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine, MemoryLevel
from tilewright.plan.chains import axis_names
from tilewright.plan.footprint import swept_elements
from tilewright.plan.kernel_choice import flops, kernel_work
from tilewright.plan.movement import access_movement
from tilewright.plan.ranges import planned_sizes
from tilewright.plan.types import ContractionRoles, Floor
from tilewright.plan.views import Count, OperatorView

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
    call_s: float = 2e-6
    """From the user's call to the kernel."""


DEFAULT = Coefficients()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a search is about: chain, machine, the micro kernel and roles of every contraction, and the coefficients."""

    chain: Chain
    machine: Machine
    kernels: Mapping[str, MicroKernel]
    roles: Mapping[str, ContractionRoles]
    coefficients: Coefficients
    sizes: Mapping[str, int]
    compulsory_bytes: int
    """All inputs and the output, once."""

    @property
    def cache_levels(self) -> tuple[MemoryLevel, ...]:
        """The levels with a size, nearest first."""
        return self.machine.levels[:-1]

    @property
    def fusion_level(self) -> MemoryLevel:
        """The level that intermediates stay in: L2, or the last cache of a machine with one level."""
        return self.cache_levels[min(1, len(self.cache_levels) - 1)]

    @property
    def capacity_bytes(self) -> int:
        """What one core may use of the fusion level."""
        return int(self.coefficients.l2_share * self.fusion_level.size_bytes / self.fusion_level.shared_by_cores)

    @property
    def pack_limit_bytes(self) -> int:
        """The largest packed operand: what stays in the caches that one core can count on."""
        per_core = [level.size_bytes // level.shared_by_cores for level in self.cache_levels[1:]]
        return max([self.capacity_bytes // 2, *(size // 2 for size in per_core)])


@dataclass(frozen=True, slots=True)
class Work:
    """What one operator costs under a schedule; every field may be an array."""

    arithmetic_s: Count
    functions_s: Count
    packing_s: Count
    overhead_s: Count
    traffic_bytes: Mapping[str, Count]
    """Into each cache level, from the one behind it."""


def operator_work(setting: Setting, view: OperatorView, live_elements: Count, packed_elements: Count) -> Work:
    """The cost of one operator. `live_elements` are those of all intermediates, `packed_elements` what is packed for it."""
    sizes = setting.sizes
    own = axis_names((view.operator,))
    repeats = _product(loop.trips for loop in view.running() if loop.axis not in own)
    runs = _product(loop.trips for loop in view.running())
    hz = setting.machine.frequency_hz
    arithmetic: Count = 0.0
    functions: Count = 0.0
    into_l1: Count
    calls: Count = 0
    if view.operator.is_contraction():
        roles, kernel = setting.roles[view.operator.name], setting.kernels[view.operator.name]
        work = kernel_work(view.operator, roles, kernel, setting.machine, sizes, view.tiles)
        arithmetic, calls = work.seconds * repeats, work.calls * repeats
        into_l1 = _contraction_l1_elements(setting, view, live_elements) * repeats
    else:
        functions = _function_cycles(setting, view.operator) * repeats / hz
        into_l1 = _pass_elements(setting, view.operator, live_elements) * repeats
    overhead = (calls * setting.coefficients.tile_end_cycles + runs * setting.coefficients.block_cycles) / hz
    moved = sum(access_movement(view, access, sizes, is_output) for access, is_output in _outer(setting.chain, view))
    traffic = _traffic(setting, view, np.maximum(into_l1, moved), moved)
    return Work(arithmetic, functions, packed_elements * _pack_seconds(setting, view.operator), overhead, traffic)


def seconds(setting: Setting, work: Work) -> Count:
    """The price of one operator's work."""
    times = traffic_seconds(setting, work)
    longest = reduce(np.maximum, times.values(), work.arithmetic_s + work.functions_s)
    return longest + visible_seconds(setting, times) + work.packing_s + work.overhead_s


def traffic_seconds(setting: Setting, work: Work) -> dict[str, Count]:
    """Traffic into every level over the bandwidth of the level behind it."""
    return {
        level.name: work.traffic_bytes[level.name] / behind.bandwidth_bytes_per_s
        for level, behind in pairwise(setting.machine.levels)
    }


def visible_seconds(setting: Setting, times: Mapping[str, Count]) -> Count:
    """What of the traffic arithmetic does not hide."""
    nearest = setting.cache_levels[0].name
    shares = {True: setting.coefficients.visible_l1_traffic, False: setting.coefficients.visible_traffic}
    return sum(shares[name == nearest] * time for name, time in times.items())


def floor(chain: Chain, machine: Machine) -> Floor:
    """Flops over peak, and every input and output once over the memory bandwidth."""
    sizes = planned_sizes(chain)
    useful = sum(flops(operator, sizes) for operator in chain.operators if operator.is_contraction())
    size_bytes = compulsory_bytes(chain, sizes)
    bandwidth = machine.levels[-1].bandwidth_bytes_per_s
    return Floor(useful, useful / machine.peak("float32"), size_bytes, size_bytes / bandwidth)


def compulsory_bytes(chain: Chain, sizes: Mapping[str, int]) -> int:
    """What is read of all inputs, and the output; a tensor that is read twice counts once."""
    elements: dict[str, int] = {}
    for operator in chain.operators:
        for access in (*operator.reads, operator.write):
            if access.tensor not in chain.intermediates:
                count = int(swept_elements(access, sizes, sizes))
                elements[access.tensor] = max(elements.get(access.tensor, 0), count)
    return ELEMENT_BYTES * sum(elements.values())


def _outer(chain: Chain, view: OperatorView) -> tuple[tuple[Access, bool], ...]:
    reads = tuple((access, False) for access in dict.fromkeys(view.operator.reads) if access.tensor not in chain.intermediates)
    writes = ((view.operator.write, True),) if view.operator.write.tensor == chain.output else ()
    return reads + writes


def _traffic(setting: Setting, view: OperatorView, into_l1: Count, into_fusion: Count) -> dict[str, Count]:
    """Bytes into every cache. A cache behind the fusion level that holds all of the chain's tensors sees each of them once."""
    own = sum(swept_elements(access, setting.sizes, setting.sizes) for access, _ in _outer(setting.chain, view))
    traffic: dict[str, Count] = {}
    for position, level in enumerate(setting.cache_levels):
        if level.name == setting.fusion_level.name:
            elements = into_fusion
        elif position == 0:
            elements = into_l1
        else:
            elements = np.minimum(own, into_fusion) if setting.compulsory_bytes <= level.size_bytes else into_fusion
        traffic[level.name] = ELEMENT_BYTES * elements
    return traffic


def _contraction_l1_elements(setting: Setting, view: OperatorView, live_elements: Count) -> Count:
    """Elements into L1 for one pass: in a block, column panels run outside and rows inside, over the block's whole depth.

    A panel of B that fits serves all rows of the block; the block of A stays if it fits beside the panel.
    """
    roles, kernel = setting.roles[view.operator.name], setting.kernels[view.operator.name]
    sizes, tiles = setting.sizes, view.tiles
    usable = setting.coefficients.l1_share * setting.cache_levels[0].size_bytes / ELEMENT_BYTES
    (row_total, rows), (column_total, columns), (depth_total, depth) = (
        (sizes[axis], tiles[axis]) if axis is not None else (1, 1) for axis in (roles.row, roles.column, roles.depth)
    )
    row_trips, column_trips, depth_trips = -(-row_total // rows), -(-column_total // columns), -(-depth_total // depth)
    panel = depth * kernel.columns
    outer = _product(sizes[axis] for axis in roles.outer)
    left_is_live = view.operator.reads[roles.left].tensor in setting.chain.intermediates
    result_is_live = view.operator.write.tensor in setting.chain.intermediates
    live_fits = live_elements + panel <= usable
    panels = -(-columns // kernel.columns)
    left: Count = row_total * depth_total * column_trips * np.where(rows * depth + panel <= usable, 1, panels)
    right = depth_total * column_total * row_trips * np.where(panel <= usable, 1, -(-rows // kernel.rows))
    result: Count = row_total * column_total * (2 * depth_trips - 1)
    left = np.where(live_fits, 0, left) if left_is_live else left
    result = np.where(live_fits, 0, result) if result_is_live else result
    return outer * (left + right + result)


def _points(setting: Setting, operator: Operator) -> int:
    return int(_product(setting.sizes[axis.name] for axis in operator.axes))


def passes(operator: Operator) -> int:
    """How often a map or row operator goes over its operands: once, and once more for every state of its reduction."""
    return 1 + (len(operator.reduction.states) if operator.reduction is not None else 0)


def _pass_elements(setting: Setting, operator: Operator, live_elements: Count) -> Count:
    """A map or row operator reads its operands in every pass and writes once; blocks of intermediates may stay in L1."""
    usable = setting.coefficients.l1_share * setting.cache_levels[0].size_bytes / ELEMENT_BYTES
    touched = _points(setting, operator) * (passes(operator) + 1)
    works_in_place = any(access.tensor in setting.chain.intermediates for access in operator.reads)
    return np.where(live_elements <= usable, 0, touched) if works_in_place else touched


def _function_cycles(setting: Setting, operator: Operator) -> float:
    """Cycles of a map or row operator: its distinct scalar functions and its passes, vector by vector."""
    roots = [operator.body]
    if operator.reduction is not None:
        roots += [*(state.contribution for state in operator.reduction.states), operator.reduction.finish]
    applied = {node for root in roots for node in subexpressions(root) if isinstance(node, Apply)}
    costs = dict(setting.coefficients.function_cycles_per_vector)
    functions = sum(costs.get(node.function, setting.coefficients.other_function_cycles) for node in applied)
    passing = passes(operator) * setting.coefficients.pass_cycles_per_vector
    vectors = _points(setting, operator) * ELEMENT_BYTES * 8 / setting.machine.vector_bits
    return vectors * (functions + passing)


def _pack_seconds(setting: Setting, operator: Operator) -> float:
    """The time to pack one element of the right operand."""
    if not operator.is_contraction():
        return 0.0
    roles = setting.roles[operator.name]
    access = operator.reads[roles.right]
    last = access.indices[-1] if access.indices else None
    is_contiguous = last is not None and roles.column is not None and last.coefficient(roles.column) == 1
    coefficients = setting.coefficients
    cycles = coefficients.pack_cycles_per_vector if is_contiguous else coefficients.transpose_cycles_per_vector
    return cycles * ELEMENT_BYTES * 8 / setting.machine.vector_bits / setting.machine.frequency_hz


def _product(values: Iterable[Count]) -> Count:
    return reduce(lambda product, value: product * value, values, 1)
