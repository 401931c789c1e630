"""Online reductions: row-wise reductions in blocks of their own reduction, and the part of their rows that is then alive.

A loop that cuts the reduction of a row-wise reduction makes it run online: its states are kept from block to block and corrected
by the rescaling rule of its reduction, its results are weights that are not yet divided, and the sums that consumers make of them
are corrected at every block and divided at the last (Milakov and Gimelshein 2018, algorithm 3; FlashAttention, Dao et al. 2022).
Nothing in a schedule says so: it follows from the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

from tilewright.arrays import Condition, Count, either
from tilewright.graph.expressions.scalar import Previous, Scalar, State, apply, is_of_row, subexpressions
from tilewright.graph.types import AxisKind, Chain, Operator, Reduction
from tilewright.plan.chains import derived_once, equal_axes
from tilewright.plan.element_types import held_bytes
from tilewright.plan.reasons import CutRows
from tilewright.plan.regions.live_blocks import live_blocks
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView
from tilewright.plan.schedule import Compute, Loop, Schedule, common_path, cutting, largest_sizes, planned_sizes, trip_counts
from tilewright.records import record

RESULT = "result"
"""What the rescaling rule of finished values names as its target."""


@record
class SoftmaxWeights:
    """A row-wise reduction whose values are shares of a total: `contribution(total) / State(total)`, which the rescaling rules
    correct."""

    total: str
    """The state that values are divided by; its contributions are the undivided weights."""
    factors: tuple[tuple[str, Scalar | None], ...]
    """For every state, in order, what its old value is multiplied by when earlier states change; the total's is the weights'."""

    @property
    def factor(self) -> Scalar:
        """What undivided weights, and sums of them, are multiplied by."""
        factor = self.factors[-1][1]
        assert factor is not None
        return factor


def softmax_weights(operator: Operator) -> SoftmaxWeights | None:
    """The rescaling rules by which an operator may run in blocks of its reduction; None if it has none, or writes no value per
    point."""
    reduction = operator.reduction
    if reduction is None or not reduction.rescales:
        return None
    pointwise = all(axis.name in operator.write.axes() for axis in operator.reduction_axes())
    return _softmax_weights(reduction) if pointwise else None


@lru_cache(maxsize=64)
def _softmax_weights(reduction: Reduction) -> SoftmaxWeights | None:
    rules = {rescale.target: rescale.factor for rescale in reduction.rescales}
    total, factor = reduction.states[-1], rules.get(reduction.states[-1].name)
    if factor is None:
        return None
    old, new = Previous(total.name), State(total.name)
    divided = rules.get(RESULT) == apply("divide", apply("multiply", factor, old), new)
    without = (state.contribution for state in reduction.states if state.name not in rules)
    has_rules = not any(isinstance(node, State) for contribution in without for node in subexpressions(contribution))
    if not (divided and has_rules and reduction.finish == apply("divide", total.contribution, new)):
        return None
    return SoftmaxWeights(total.name, tuple((state.name, rules.get(state.name)) for state in reduction.states))


def adds_up(operator: Operator) -> bool:
    """Whether a reduction adds something up, point by point, and writes what becomes of the whole sum: a sum, a mean."""
    if operator.reduction is None or len(operator.reduction.states) > 1:
        return False
    (state,) = operator.reduction.states
    adds = state.combine == "add" and not any(isinstance(node, State) for node in subexpressions(state.contribution))
    return adds and state.identity == 0 and is_of_row(operator.reduction.finish)


def row_axes(operator: Operator) -> tuple[str, ...]:
    """The axes that number the rows of a row-wise reduction."""
    return tuple(axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL)


def cut_axes(chain: Chain, schedule: Schedule, operator: Operator) -> tuple[str, ...]:
    """The reduction axes of a row-wise reduction that loops with more than one trip cut; empty if its rows are whole."""
    if not operator.is_row_reduction():
        return ()
    cut = {loop.axis for loop in cutting(chain, schedule.path(operator.name))}
    return tuple(axis.name for axis in operator.reduction_axes() if axis.name in cut)


def weights_read(chain: Chain, operator: Operator) -> Operator | None:
    """The row-wise reduction with rescaling rules whose weights a contraction sums; None for other operators."""
    return next(_producers_of_weights(chain, operator), None) if operator.is_contraction() else None


def _producers_of_weights(chain: Chain, operator: Operator) -> Iterator[Operator]:
    """The row-wise reduction behind every read of weights."""
    for access in operator.reads:
        producer = chain.producer(access.tensor)
        if producer is not None and softmax_weights(producer) is not None:
            yield producer


@derived_once
def divided_by_readers(chain: Chain, name: str) -> bool:
    """Whether the row-wise reduction of this name, if its rows are whole, leaves the division by totals to who sums its weights.

    All readers must be contractions that sum whole rows of these weights alone, keep the rows apart, and write fewer elements
    for a row than it has.
    """
    operator = chain.operator(name)
    if softmax_weights(operator) is None or operator.write.tensor not in chain.intermediates:
        return False
    consumers = chain.consumers(operator.write.tensor)
    return all(_divides_less(chain, operator, consumer) for consumer in consumers)


def _divides_less(chain: Chain, operator: Operator, consumer: Operator) -> bool:
    keys, sizes = {axis.name for axis in operator.reduction_axes()}, planned_sizes(chain)
    columns = prod(sizes[axis] for axis in consumer.write.axes().difference(row_axes(operator)))
    sums_whole_rows = keys <= {axis.name for axis in consumer.reduction_axes()}
    is_less = columns < prod(sizes[axis] for axis in keys)
    return sums_whole_rows and is_less and _sums_these_alone(chain, operator, consumer)


def _sums_these_alone(chain: Chain, operator: Operator, consumer: Operator) -> bool:
    """Whether a contraction is linear in the weights of this row-wise reduction alone, and keeps its rows apart."""
    apart = consumer.write.axes() & equal_axes(chain, operator.write.tensor)
    sums_these = consumer.is_contraction() and tuple(_producers_of_weights(chain, consumer)) == (operator,)
    return sums_these and apart.issuperset(row_axes(operator))


def why_rows_must_be_whole(chain: Chain, schedule: Schedule, operator: Operator) -> str:
    """Why a row-wise reduction cannot run in the blocks that a schedule cuts its rows into; empty if it can."""
    cut = cut_axes(chain, schedule, operator)
    consumers = chain.consumers(operator.write.tensor)
    if not cut:
        return ""
    if softmax_weights(operator) is None or not consumers:
        return f"{operator.name} needs whole rows, and a loop cuts {', '.join(cut)}"
    path = schedule.path(operator.name)
    held = dict(live_blocks(chain, schedule, operator.write.tensor))
    for axis in cut:
        if held[axis] is not next(loop for loop in reversed(path) if loop.axis == axis):
            return f"{operator.name} runs in blocks of {axis}, and what it makes of one is read after the next"
    if not all(_sums_weights(chain, schedule, operator, consumer, cut) for consumer in consumers):
        return f"{operator.name} needs whole rows, because not all that reads it sums over {', '.join(cut)}"
    return ""


def _sums_weights(chain: Chain, schedule: Schedule, operator: Operator, consumer: Operator, cut: tuple[str, ...]) -> bool:
    """Whether a consumer sums over the cut axes, block after block, is linear in these weights alone, and keeps the rows
    apart."""
    summed = {axis.name for axis in consumer.reduction_axes()}
    if not summed.issuperset(cut) or not _sums_these_alone(chain, operator, consumer):
        return False
    shared = common_path(schedule.path(operator.name), schedule.path(consumer.name))
    cuts = [loop.axis for loop in cutting(chain, shared)]
    foreign = summed.intersection(cuts).difference(cut)
    return not foreign and _run_together(schedule, operator, consumer, cuts, cut)


def _run_together(schedule: Schedule, operator: Operator, consumer: Operator, cuts: list[str], cut: tuple[str, ...]) -> bool:
    """Whether both run at the same trips of all loops outside the cuts."""
    made, used = (schedule.conditions(name) for name in (operator.name, consumer.name))
    last = max(position for position, axis in enumerate(cuts) if axis in cut)
    return all(made.get(axis) == used.get(axis) for axis in cuts[:last])


def why_parts_cannot_combine(chain: Chain, schedule: Schedule) -> str:
    """Why the parts of a split cannot be combined; empty if they can, or without a split.

    Parts of a sum are added; parts of weights are combined by the rescaling rule of their row-wise reduction.
    """
    axis = schedule.split
    if not axis:
        return ""
    sink = chain.operators[-1]
    rows = weights_read(chain, sink)
    outermost = [node for node in schedule.body if isinstance(node, Loop)]
    if len(schedule.body) != 1 or not outermost or outermost[0].axis != axis:
        return f"the loop over {axis} is split, but does not stand around everything else"
    reducing = {op.name for op in chain.operators if any(reduced.name == axis for reduced in op.reduction_axes())}
    if reducing == {sink.name} and sink.is_contraction():
        return ""
    if rows is None or reducing != {rows.name, sink.name} or cut_axes(chain, schedule, rows) != (axis,):
        return f"parts of {axis} cannot be combined: the last operator sums, alone or weights of rows along {axis} alone"
    return ""


def state_blocks(chain: Chain, schedule: Schedule, operator: Operator) -> tuple[tuple[str, Loop | None], ...]:
    """For every row axis the loop whose rows have their states kept, None for all rows.

    It is the innermost outside all cuts; the parts of a split have states of their own. Of whole rows it is the loop whose
    weights wait for their readers.
    """
    if not cut_axes(chain, schedule, operator):
        held_rows = dict(live_blocks(chain, schedule, operator.write.tensor))
        return tuple((axis, held_rows[axis]) for axis in row_axes(operator))
    rows, reduced = row_axes(operator), {axis.name for axis in operator.reduction_axes()}
    path = schedule.path(operator.name)
    held: dict[str, Loop] = {}
    parts = path[0] if schedule.split else None
    for loop, trips in zip(path, trip_counts(path, largest_sizes(chain)), strict=True):
        if loop.axis in reduced and trips > 1 and loop is not parts:
            break
        held[loop.axis] = loop
    return tuple((axis, held.get(axis)) for axis in rows)


def live_states(view: ChainView) -> Count:
    """All states that are kept between blocks, with the factor of every row, in bytes; tiles may be arrays."""
    online = (member for member in view.operators if softmax_weights(member.operator) is not None)
    return sum(held_bytes(view.chain, member.operator.write.tensor) * _state_elements(view, member) for member in online)


def _state_elements(view: ChainView, member: OperatorView) -> Count:
    weights = softmax_weights(member.operator)
    assert weights is not None
    reduced = {axis.name for axis in member.operator.reduction_axes()}
    held: dict[str, Count] = {axis: view.sizes[axis] for axis in row_axes(member.operator)}
    is_cut: Condition = False
    for loop in member.loops:
        if loop.axis in reduced:
            is_cut = is_cut | (loop.trips > 1)
        elif loop.axis in held:
            held[loop.axis] = either(is_cut, held[loop.axis], member.tiles[loop.axis])
    return either(is_cut, prod(held.values()) * (len(weights.factors) + 1), 0)


def blocks_of_rows(operator: Operator, loops: tuple[LoopView, ...]) -> Count:
    """Into how many blocks loops cut each row of a row-wise reduction."""
    reduced = {axis.name for axis in operator.reduction_axes()}
    return prod((loop.trips for loop in loops if loop.axis in reduced), start=1)


def cut_rows(chain: Chain, schedule: Schedule) -> dict[str, CutRows]:
    """How every row-wise reduction whose rows are cut meets the loops of a schedule, by operator."""
    leaves = [leaf.operator for _, leaf in schedule.leaves() if isinstance(leaf, Compute)]
    rows = [operator.name for operator in chain.operators if operator.is_row_reduction() and operator.name in leaves]
    cut = {name: cut_axes(chain, schedule, chain.operator(name)) for name in rows}
    return {name: _cut_rows(schedule, name, axes) for name, axes in cut.items() if axes}


def _cut_rows(schedule: Schedule, operator: str, cut: tuple[str, ...]) -> CutRows:
    parts = schedule.path(operator)[:1] if schedule.split else ()
    tiles = {loop.axis: loop.tile for loop in schedule.path(operator)[len(parts) :]}
    online = tuple((axis, tiles[axis]) for axis in cut if axis in tiles)
    return CutRows(tuple((loop.axis, loop.tile) for loop in parts), online)
