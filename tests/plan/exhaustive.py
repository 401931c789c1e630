"""The oracle of the search: every schedule of a small space, one by one, priced from its tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, permutations, product

from tilewright.graph.types import Chain
from tilewright.plan.chains import axis_names
from tilewright.plan.model.cost import Work, moving_of, nothing, passing_of, seconds, work_of
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures, set_conflict
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.regions.loop_views import OperatorView, block_count, view_schedule
from tilewright.plan.regions.required_regions import schedule_region_axes
from tilewright.plan.schedule import FusedGroup, Schedule, Storage, fused_schedule
from tilewright.plan.space.executability import is_executable
from tilewright.plan.space.schedule_space import may_be_line_buffered, may_lead
from tilewright.plan.threads import LATE_SHARE, enough_blocks


def cheapest(context: CostContext, multiples: Mapping[str, int]) -> float:
    """The least time on the cores of all schedules that fit the fusion level, tiles being all multiples up to the extents."""
    priced = (on_cores(context, schedule, price(context, schedule)) for schedule in schedules(context, multiples))
    return min(priced)


def on_cores(context: CostContext, schedule: Schedule, seconds: float) -> float:
    """The time of the core that gets most blocks when equal blocks are dealt out one by one, and ends late if they are few."""
    blocks, cores = block_count(context.chain, schedule), context.machine.cores
    if blocks == 1 or cores == 1:
        return seconds
    hands = [0.0] * cores
    for block in range(blocks):
        hands[block % cores] += seconds / blocks
    late = LATE_SHARE * max(0.0, 1 - blocks / enough_blocks(cores))
    return max(hands) + late * seconds / blocks + context.machine.parallel_region_s


def price(context: CostContext, schedule: Schedule) -> float:
    """The sum over the operators; infinite if the schedule does not fit."""
    view = view_schedule(context.chain, schedule)
    if working_set_bytes(view) > context.capacity_bytes:
        return float("inf")
    around = chain_figures(context, view)

    def one_price(one: OperatorView) -> float:
        prices = [float(seconds(context, operator_work(context, around, one)))]
        if may_stay(context, one.operator):
            conflict = set_conflict(context, one.operator, context.cache_levels[0])
            prices.append(float(seconds(context, operator_work(context, around, one, conflict=conflict))))
        return min(prices)

    return sum(one_price(one) for one in view.operators)


def schedules(context: CostContext, multiples: Mapping[str, int]) -> Iterator[Schedule]:
    """Every executable order of outer loops, with every nest of every subset of its remaining axes below for each operator.

    Below orders of outer loops that keep every intermediate also every tree: any operators that have an axis in a loop over it
    together.
    """
    chain, sizes = context.chain, context.sizes
    cut = {axis: list(range(step, sizes[axis], step)) for axis, step in multiples.items()}
    sink = [axis.name for axis in chain.operators[-1].axes if axis.name in cut and may_lead(chain, axis.name)]
    for outer_loops in orders(tuple(sink)):
        for tiles, line_buffered in product(tilings(outer_loops, cut), rollings(chain, outer_loops)):
            bare = fused_schedule(chain, outer_loops, {}, tiles, line_buffered=line_buffered)
            if not is_executable(chain, bare):
                continue
            walked = {axis for _, axis in schedule_region_axes(chain, bare)}
            keeps = all(storage is Storage.KEEP for _, storage in bare.storage)
            for fused_groups in trees(chain, outer_loops, tuple(cut)) if keeps else ((),):
                yield from nests(chain, outer_loops, tiles, cut, walked, line_buffered, fused_groups)


def nests(
    chain: Chain,
    outer_loops: tuple[str, ...],
    tiles: dict[str, int],
    cut: Mapping[str, list[int]],
    walked: set[str],
    line_buffered: list[str],
    fused_groups: tuple[FusedGroup, ...],
) -> Iterator[Schedule]:
    """All nests of all operators' own below an order of outer loops and some fused groups, with all tiles of both."""
    names = [operator.name for operator in chain.operators]
    shared = (*outer_loops, *(axis for fused_group in fused_groups for axis in fused_group.axes))
    free = [[a for a in remaining(chain, i, shared) if a in cut and a not in walked] for i in range(len(names))]
    own = [orders(tuple(axes)) for axes in free]
    below = [[(order, inner) for order in group for inner in tilings(order, cut)] for group in own]
    for within in tilings(shared[len(outer_loops) :], cut):
        for choice in product(*below):
            inner_orders = {name: order for name, (order, _) in zip(names, choice, strict=True)}
            inner_tiles = {name: inner for name, (_, inner) in zip(names, choice, strict=True)}
            yield fused_schedule(chain, outer_loops, inner_orders, {**tiles, **within}, inner_tiles, line_buffered, fused_groups)


def trees(chain: Chain, outer_loops: tuple[str, ...], axes: tuple[str, ...]) -> list[tuple[FusedGroup, ...]]:
    """Every choice of fused groups that makes an executable tree; a partially fused group has one axis, and the operators that
    have it."""
    having = {
        axis: tuple(op.name for op in chain.operators if axis in axis_names((op,))) for axis in axes if axis not in outer_loops
    }
    able = [FusedGroup(names, (axis,)) for axis, names in having.items() if 1 < len(names) < len(chain.operators)]
    names = [operator.name for operator in chain.operators]
    found = []
    for size in range(len(able) + 1):
        for chosen in combinations(able, size):
            inside = sorted((one for one in chosen), key=lambda one: names.index(one.operators[0]))
            members = [name for one in inside for name in one.operators]
            together = all(one.operators == tuple(names[names.index(one.operators[0]) :][: len(one.operators)]) for one in inside)
            apart = len(set(members)) == len(members)
            tiles = dict.fromkeys((*outer_loops, *axes), 1)
            if together and apart and is_executable(chain, fused_schedule(chain, outer_loops, {}, tiles, fused_groups=inside)):
                found.append(tuple(inside))
    return found


def rollings(chain: Chain, outer_loops: tuple[str, ...]) -> list[list[str]]:
    """Every choice of buffers that have circular line buffers along the last loop."""
    groups = may_be_line_buffered(chain, outer_loops)
    choices = product((False, True), repeat=len(groups))
    return [[t for group, chosen in zip(groups, choice, strict=True) if chosen for t in group] for choice in choices]


def remaining(chain: Chain, number: int, outer_loops: tuple[str, ...]) -> tuple[str, ...]:
    """The axes that an operator may loop over below an order of outer loops; a chain of one operator has all its loops in the
    outer loops."""
    if len(chain.operators) == 1 or not chain.operators[number].is_contraction():
        return ()
    return tuple(sorted(axis_names((chain.operators[number],)) - set(outer_loops)))


@cache
def orders(axes: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Every order of every subset."""
    return tuple(order for length in range(len(axes) + 1) for order in permutations(axes, length))


def tilings(axes: tuple[str, ...], cut: Mapping[str, list[int]]) -> list[dict[str, int]]:
    """Every choice of tiles that cut their axes."""
    return [dict(zip(axes, tiles, strict=True)) for tiles in product(*(cut[axis] for axis in axes))]


def operator_work(context: CostContext, around: ChainFigures, view: OperatorView, *, conflict: float | None = None) -> Work:
    """The cost of one operator; maps that the micro tiles of a contraction apply cost nothing, as their functions are its own.

    `conflict` (see `traffic.bytes_into`) says that its right operand is read in place; None that it is packed if it has to be.
    """
    if view.operator.name in context.in_tiles:
        return nothing(context)
    return work_of(moving_of(passing_of(context, around, view), conflict))
