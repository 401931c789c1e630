"""Masks of a chain: which points along a reduction matter to which rows, read from the bodies of maps and the rescaling rules of
reductions.

A map `where(condition, x, fill)` is a mask if its condition has affine parts and what reads it makes nothing of `fill`: every
state of a reduction takes it in as it takes in its identity (the exponential of -inf in a sum, 0 in a product). Then points where
the condition does not hold need not be computed at all: neither what leads to them nor what is made of them. Nothing of
this looks at names. A row of which no point matters keeps one point, so that it means what the whole row means.

What a point that is left out holds is never seen. Inside a block that is computed in part, a weight of 0 still meets what is
there: 0 * NaN is NaN, as in the formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from tilewright.graph.expressions.conditions import Constraint, conjuncts, constraint_of
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Point, Scalar, rewrite, subexpressions
from tilewright.graph.expressions.scalar_functions import COMBINATIONS, known_value
from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.chains import derived_once
from tilewright.plan.schedule import Loop, Schedule, common_path, largest_sizes, trip_counts
from tilewright.records import record

LANES = 16
"""Keys in a vector of the widest dialect: what is masked begins and ends with whole vectors."""
Values = dict[str, float]
"""What the elements of a tensor are where a mask does not hold, by tensor."""


@record
class Limit:
    """A constraint of a mask, with the read that its value of the data is an element of."""

    constraint: Constraint
    access: Access | None = None

    @property
    def index(self) -> Index:
        """What must not be negative, but for the value of the data."""
        return self.constraint.index


@record
class Mask:
    """A map that lets some points through: those where all limits hold."""

    operator: str
    limits: tuple[Limit, ...]
    inside: Scalar
    """The body where they hold."""
    is_plain: bool
    """Whether that is the element that it reads: the map does nothing there."""
    readers: frozenset[str]
    """The operators that see it, directly or not, until they have summed it away."""


@record
class KeyMask:
    """The masks of a chain along one reduction axis."""

    axis: str
    masks: tuple[Mask, ...]
    operators: frozenset[str]
    """All that need no point that a mask leaves out."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Those of all masks."""
        return tuple(dict.fromkeys(limit for mask in self.masks for limit in mask.limits))

    @property
    def row_axes(self) -> tuple[str, ...]:
        """The axes of rows that limits speak of."""
        return tuple(sorted({axis for limit in self.limits for axis in limit.index.axes()} - {self.axis}))

    def mask(self, operator: str) -> Mask | None:
        """The mask that an operator is."""
        return next((mask for mask in self.masks if mask.operator == operator), None)


@derived_once
def key_mask_of(chain: Chain) -> KeyMask | None:
    """The masks of a chain; None if it has none that leave out whole blocks."""
    candidates = {axis.name: None for op in chain.operators for axis in op.reduction_axes()}
    return next((found for axis in candidates if (found := _along(chain, axis)) is not None), None)


def is_plain_mask(chain: Chain, operator: str) -> bool:
    """Whether an operator is a mask that does nothing to the points that it lets through."""
    key_mask = key_mask_of(chain)
    mask = key_mask.mask(operator) if key_mask is not None else None
    return mask is not None and mask.is_plain


def later_need_more(chain: Chain, axis: str) -> bool:
    """Whether masks let later rows along an axis through to more keys than earlier ones."""
    if (key_mask := key_mask_of(chain)) is None:
        return False
    indices, keys = [limit.index for limit in key_mask.limits], key_mask.axis
    return any(index.coefficient(keys) < 0 < index.coefficient(axis) for index in indices)


def loops_around_mask(chain: Chain, schedule: Schedule) -> tuple[Loop, ...]:
    """The loops around the place from which on masks bound the keys of all operators: the blocks of rows outside all keys."""
    key_mask = key_mask_of(chain)
    assert key_mask is not None
    around = reduce(common_path, (schedule.path(name) for name in sorted(key_mask.operators)))
    trips = trip_counts(around, largest_sizes(chain))
    keys = (i for i, (loop, count) in enumerate(zip(around, trips, strict=True)) if loop.axis == key_mask.axis and count > 1)
    return around[: next((i for i in keys if i or not schedule.split), len(around))]


def key_step(columns: Sequence[int], lanes: int) -> int:
    """The number of keys of a block of rows is a multiple of this: half a panel, so that there are few shapes of tiles."""
    return max([lanes, *(wide // 2 // lanes * lanes for wide in columns)])


def _along(chain: Chain, axis: str) -> KeyMask | None:
    """The masks along one axis: all operators that have it must do without the points that are left out."""
    concerned = frozenset(op.name for op in chain.operators if axis in op.axis_names)
    masks = tuple(mask for op in chain.operators if op.name in concerned for mask in _masks(chain, op, axis))
    key_mask = KeyMask(axis, masks, concerned)
    rows = {*key_mask.row_axes, *(name for limit in key_mask.limits if limit.access is not None for name in limit.access.axes())}
    if not masks or not all(_walks_alike(chain, name, axis, rows) for name in concerned):
        return None
    return key_mask if _is_summed_away(chain, axis, masks, concerned) else None


def _masks(chain: Chain, operator: Operator, axis: str) -> Iterator[Mask]:
    """An operator as a mask along an axis, if it is one."""
    if not operator.is_map():
        return
    limits: list[Limit] = []
    inside, readers = operator.body, frozenset[str]()
    for node in dict.fromkeys(subexpressions(operator.body)):
        if not isinstance(node, Apply) or node.function != "where":
            continue
        for holds in (True, False):
            found, kept = _let_through(operator, node, holds, axis)
            seen = _readers(chain, operator, _replaced(operator.body, node, node.operands[1 + holds]), axis) if found else None
            if seen is not None:
                limits, inside, readers = [*limits, *found], _replaced(inside, node, kept), seen
    if limits:
        inside = _without_zero(inside)
        yield Mask(operator.name, tuple(limits), inside, isinstance(inside, Load), readers)


def _replaced(scalar: Scalar, old: Scalar, new: Scalar) -> Scalar:
    return rewrite(scalar, lambda node: new if node == old else None)


def _let_through(operator: Operator, node: Apply, holds: bool, axis: str) -> tuple[list[Limit], Scalar]:
    """The limits along an axis within which a `where` takes one of its values, and what it is there."""
    condition, chosen, alternative = node.operands[0], node.operands[2 - holds], node.operands[1 + holds]
    found: list[Limit] = []
    kept = chosen
    for part in conjuncts(condition, holds):
        limit = _limit(operator, part, axis)
        if limit is not None:
            found.append(limit)
        else:
            kept = Apply("where", (part, kept, alternative))
    return found, kept


def _limit(operator: Operator, comparison: Scalar, axis: str) -> Limit | None:
    """A comparison that bounds an axis by the rows and by one value of their data."""
    constraint = constraint_of(comparison)
    if constraint is None or not constraint.index.coefficient(axis):
        return None
    read = next((datum.leaf.read for datum in constraint.data if isinstance(datum.leaf, Load)), None)
    if read is None:
        return Limit(constraint)
    access = operator.reads[read]
    return Limit(constraint, access) if access.is_affine() and axis not in access.axes() else None


def _without_zero(scalar: Scalar) -> Scalar:
    """An expression without additions of 0 and multiplications by 1, which an additive mask leaves where it holds."""
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(_without_zero(operand) for operand in scalar.operands)
    neutral = {"add": 0.0, "multiply": 1.0}.get(scalar.function)
    left = [operand for operand in operands if operand != Literal(neutral)] if neutral is not None else []
    return left[0] if len(left) == 1 else Apply(scalar.function, operands)


def _readers(chain: Chain, mask: Operator, outside: Scalar, axis: str) -> frozenset[str] | None:
    """Who sees the points at which a map has this body; None if anything comes of them."""
    value = known_value(outside, {})
    if value is None:
        return None
    values: Values = {mask.write.tensor: value}
    seen = set()
    for operator in chain.operators:
        reads = ((Load(number), read.tensor) for number, read in enumerate(operator.reads))
        known: dict[Scalar, float] = {load: values[tensor] for load, tensor in reads if tensor in values}
        if not known:
            continue
        after = _after(operator, known, axis)
        if after is None:
            return None
        seen.add(operator.name)
        for masked in after:
            values[operator.write.tensor] = masked
    return frozenset(seen) if all(chain.consumers(tensor) for tensor in values) else None


def _after(operator: Operator, known: Mapping[Scalar, float], axis: str) -> tuple[float, ...] | None:
    """What an operator writes at points of which it reads known values: nothing if it sums them away; None if they matter."""
    point = known_value(operator.body, known)
    if point is None or operator.reduction is None:
        return None if point is None else (point,)
    if not any(reduced.name == axis for reduced in operator.reduction_axes()):
        return None
    at_point: dict[Scalar, float] = {Point(): point}
    for state in operator.reduction.states:
        taken = known_value(state.contribution, at_point)
        if taken is None or float(COMBINATIONS[state.combine](state.identity, taken)) != state.identity:
            return None
    if axis not in operator.write.axes():
        return ()
    value = known_value(operator.reduction.finish, at_point)
    return None if value is None else (value,)


def _walks_alike(chain: Chain, name: str, axis: str, rows: set[str]) -> bool:
    """Whether an operator has the axes of the rows and walks along intermediates that have the axis point by point."""
    operator, inside = chain.operator(name), set(chain.intermediates)
    accesses = [access for access in (*operator.reads, operator.write) if access.tensor in inside and axis in access.axes()]
    plain = all(access.is_affine() and all(i.is_axis() or not i.terms for i in access.indices) for access in accesses)
    return plain and rows <= operator.axis_names


def _is_summed_away(chain: Chain, axis: str, masks: Sequence[Mask], concerned: frozenset[str]) -> bool:
    """Whether all that has the axis is read by operators that have it too, and whoever reduces it sees every mask."""
    for operator in chain.operators:
        if operator.name not in concerned:
            continue
        is_reduced = any(reduced.name == axis for reduced in operator.reduction_axes())
        if is_reduced and any(operator.name not in mask.readers for mask in masks):
            return False
        consumers = chain.consumers(operator.write.tensor)
        if axis in operator.write.axes() and not (consumers and all(consumer.name in concerned for consumer in consumers)):
            return False
    return True
