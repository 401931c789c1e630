"""Refinement of a candidate by the core: what `search/inner_loops.py` decides with arrays."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator, Mapping
from itertools import islice, permutations
from math import prod

import numpy as np

from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.plan.decisions.prefetching_kernels import move_alike, prefetching_kernels
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost import Block, Work
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.operands.packing_cost import FEW_ROWS
from tilewright.plan.model.operands.prefetch_gain import is_followed, share_on_same_page
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.search.core import library
from tilewright.plan.search.core.data import BeyondLimits, Data, Packed
from tilewright.plan.search.core.operators import pack_prefetches
from tilewright.plan.search.core.orders import Tree, pack_tree, packed_orders
from tilewright.plan.search.core.searched import CoreProblem
from tilewright.plan.space.schedule_space import places_in
from tilewright.records import record


@record
class CoreCandidate:
    """A candidate as the core reads it."""

    problem: CoreProblem
    order: Packed
    trees: int
    """1 if fused groups stand below its order of outer loops."""
    places: array[int]
    """Of tiles: of the outer loops without fused groups, then of every operator's own loops behind their number and axes."""


@record
class Decided:
    """What was decided for an operator."""

    seconds: float
    floor_s: float
    """What refinement cannot get below."""
    conflict: float | None
    """Of a right operand that is read in place: see `traffic.set_conflict`."""
    may_gain: bool
    """Whether loops inside its block may gain."""
    tiles: Mapping[str, int]
    sizes: Mapping[str, int]
    """Points along its axes that all blocks have together."""
    loops: tuple[int, int]
    """The numbers of the order of its loops for L1 and of their tiles among those given; -1 for none."""


@record
class SmallerBlocks:
    """Blocks that loops inside an operator's block may make, for all combinations of their tiles."""

    tiles: Mapping[str, tuple[int, ...]]
    """Of the axes that may be cut; the last one is the block's."""
    block: Block

    def chosen(self, loops: tuple[int, int]) -> tuple[tuple[str, int], ...]:
        """The loops of an order and of tiles by their numbers, outermost first, that cut anything."""
        order = list(permutations(self.tiles))[loops[0]]
        places = np.unravel_index(loops[1], tuple(map(len, self.tiles.values())))
        chosen = {axis: some[int(place)] for (axis, some), place in zip(self.tiles.items(), places, strict=True)}
        return tuple((axis, chosen[axis]) for axis in order if chosen[axis] < self.tiles[axis][-1])


def core_candidate(problem: CoreProblem, candidate: Candidate) -> CoreCandidate:
    """A candidate of a problem. Raises `BeyondLimits`."""
    space, numbers = problem.space, problem.numbers
    tiles = {axis: (1,) if axis in space.batch else some for axis, some in space.tiles.items()}
    orders = packed_orders(((candidate.outer_loops, candidate.line_buffered),), numbers)
    inside = {axis for group in candidate.fused_groups for axis in group.axes}
    choices = {axis: (candidate.tiles[axis],) for axis in numbers.axes if axis in (*candidate.outer_loops, *inside)}
    places: list[int] = []
    if candidate.fused_groups:
        tree = Tree(0, candidate.outer_loops, choices, candidate.fused_groups)
        pack_tree(orders, space.context.chain, tree, tiles, numbers)
    else:
        places += [place for axis, some in choices.items() for place in places_in(tiles[axis], some)]
    for name in numbers.operators:
        order, of_axis = candidate.inner_orders.get(name, ()), candidate.inner_tiles.get(name, {})
        places += (len(order), *(numbers.axes[axis] for axis in order))
        places += [place for axis in order for place in places_in(tiles[axis], (of_axis[axis],))]
    return CoreCandidate(problem, orders.packed(), int(bool(candidate.fused_groups)), array("q", places))


@record
class Prefetching:
    """The micro kernels that operators may have, their own one first: they differ in what they prefetch."""

    kernels: Mapping[str, tuple[MicroKernel, ...]]
    """Of every contraction."""
    packed: Packed

    def count(self, operator: str) -> int:
        """How many works an operator has: one without a micro kernel, too."""
        return len(self.kernels.get(operator, (None,)))


def prefetching(context: CostContext) -> Prefetching | None:
    """The micro kernels to choose prefetches from; None where they differ in more than these."""
    others = prefetching_kernels(context)
    if not all(move_alike(context, kernels) for kernels in others.values()):
        return None
    every = {
        name: (kernel, *(kernels[name] for kernels in others.values() if name in kernels))
        for name, kernel in context.kernels.items()
    }
    data = Data()
    for operator in context.chain.operators:
        kernels = every.get(operator.name, ())
        data.integers.append(len(kernels))
        for kernel in kernels:
            _pack_kernel(data, context, operator, kernel)
    return Prefetching(every, data.packed())


def _pack_kernel(data: Data, context: CostContext, operator: Operator, kernel: MicroKernel) -> None:
    follows = is_followed(context, OperatorView(operator, (), {}, context.sizes), kernel)
    streams = OperandRole.RIGHT not in kernel.prefetch and not follows
    data.integers += (kernel.rows > FEW_ROWS, streams, bool(kernel.prefetch) and follows)
    data.reals += (context.coefficients.visible_stream, share_on_same_page(context, operator, OperandRole.RIGHT))
    pack_prefetches(data, context, operator, kernel)


@record
class Assessed:
    """What the core found of a candidate."""

    candidate: CoreCandidate
    of_kernels: Prefetching
    has_regions: bool
    live_bytes: float
    """What intermediates take."""
    used_bytes: float
    """No operator works on more at a time, without required regions and but for what maps in micro tiles access."""
    decided: Mapping[str, Decided]
    figures: Mapping[str, tuple[float, ...]]
    """Of the work of every operator, with one micro kernel after the other."""

    def has_works(self) -> bool:
        """Whether the works are those of the formulas: few rows with required regions may pass over an operand otherwise."""
        few = any(kernel.rows <= FEW_ROWS for kernels in self.of_kernels.kernels.values() for kernel in kernels)
        return not (self.has_regions and few)

    def fits(self) -> bool:
        """Whether all that is worked on at a time is known to fit the fusion level."""
        context = self.candidate.problem.space.context
        in_tiles = sum(_outer_bytes(context.chain, name, self.decided[name].tiles) for name in context.in_tiles)
        return not self.has_regions and self.used_bytes + in_tiles <= context.capacity_bytes

    def works(self) -> dict[tuple[str, str], Work]:
        """What operators cost, by name and that of the micro kernel; of one without, the empty name."""
        levels = [level.name for level in self.candidate.problem.space.context.cache_levels]
        found = {}
        for name, figures in self.figures.items():
            kernels = self.of_kernels.kernels.get(name)
            names = [kernel.name for kernel in kernels] if kernels else [""]
            parts = zip(*(iter(figures),) * (7 + len(levels)), strict=True)
            for kernel, part in zip(names, parts, strict=True):
                arithmetic_s, functions_s, packing_s, overhead_s, prefetch_s, streamed_s, buffering_s, *traffic = part
                moved = dict(zip(levels, traffic, strict=True))
                times = arithmetic_s, functions_s, packing_s, overhead_s
                found[name, kernel] = Work(*times, moved, prefetch_s, streamed_s, buffering_s)
        return found


def _outer_bytes(chain: Chain, name: str, tiles: Mapping[str, int]) -> int:
    """The bytes of an operator's tiles of inputs and outputs."""
    operator = chain.operator(name)
    accesses = (access for access in (*operator.reads, operator.write) if access.tensor not in chain.intermediates)
    return sum(held_bytes(chain, access.tensor) * int(distinct_elements(access, tiles)) for access in accesses)


def assessed(
    core: library.Core, candidate: CoreCandidate, of_kernels: Prefetching, smaller: Mapping[str, SmallerBlocks]
) -> Assessed:
    """What is best for every operator, with loops for L1 where smaller blocks are given. Raises `BeyondLimits`."""
    problem = candidate.problem
    context = problem.space.context
    operators, width = context.chain.operators, 7 + len(context.cache_levels)
    integers = array("q", bytes(8 * (1 + sum(3 + 2 * len(operator.axes) for operator in operators))))
    reals = array("d", bytes(8 * (2 + sum(3 + width * of_kernels.count(operator.name) for operator in operators))))
    packed = candidate.order, _packed_blocks(problem, smaller), of_kernels.packed
    order, *blocks_and_kernels = map(ctypes.byref, map(library.data_of, packed))
    found = candidate.places.buffer_info()[0], *blocks_and_kernels, integers.buffer_info()[0], reals.buffer_info()[0]
    problem.called(core.tw_refine, order, candidate.trees, *found)
    numbers, figures, decided, works = iter(integers), iter(reals), {}, {}
    has_regions, live_bytes, used_bytes = bool(next(numbers)), next(figures), next(figures)
    for operator in operators:
        name = operator.name
        decided[name] = _decided(operator, numbers, figures)
        works[name] = tuple(islice(figures, width * of_kernels.count(name)))
    return Assessed(candidate, of_kernels, has_regions, live_bytes, used_bytes, decided, works)


def _decided(operator: Operator, numbers: Iterator[int], figures: Iterator[float]) -> Decided:
    seconds, floor_s, conflict = islice(figures, 3)
    may_gain, order, place = islice(numbers, 3)
    pairs = {axis.name: (next(numbers), next(numbers)) for axis in operator.axes}
    tiles, sizes = ({axis: pair[i] for axis, pair in pairs.items()} for i in range(2))
    return Decided(seconds, floor_s, conflict or None, bool(may_gain), tiles, sizes, (order, place))


def _packed_blocks(problem: CoreProblem, smaller: Mapping[str, SmallerBlocks]) -> Packed:
    data = Data()
    for name, number in problem.numbers.operators.items():
        if name not in smaller:
            continue
        tiles, block = smaller[name].tiles, smaller[name].block
        if prod(map(len, tiles.values())) > MOST_TILES:
            raise BeyondLimits
        data.integers += (number, len(tiles))
        for axis, some in tiles.items():
            data.integers.append(problem.numbers.axes[axis])
            data.counted(some)
        footprints = zip(block.footprints.tile, block.footprints.swept, strict=True)
        for figure in (block.arithmetic_s, block.calls, *(part for pair in footprints for part in pair)):
            data.table(figure, len(tiles))
    data.integers.append(-1)
    return data.packed()


MOST_TILES = 1 << 18
"""Combinations of tiles of one operator."""
