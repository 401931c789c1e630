"""Where loops run: pieces between the limits of guards, and keys that masks let through.

Guarded maps in pieces: cut where a guard begins or ends to hold, so that no piece evaluates it for every element.

A constraint of one axis, c * i + b >= 0, holds from a point on or up to one. Below and above it the guard is decided: a read
is plain, or it is the number that is said elsewhere. What joins arrays, or pads them, becomes plain copies and fills.

Iteration-domain restriction by masks: a block of rows walks from the first to the last key that it needs.

For a limit `c * l + rest >= 0` the rows of a block need keys up to `floor(rest / -c)` for the largest `rest` of the block
(c < 0), or from `-floor(rest / c)` on (c > 0); the smallest `rest` says in the same way where all rows need all keys. The first
key is rounded down to where packed operands may be entered, the number of keys up to half a panel. Where there are
keys, one is always left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from math import lcm

from tilewright.block.integers import IntegerExpression, Operation, Variable, VariableKind, maximum, minimum, round_down, round_up
from tilewright.block.memory import Range
from tilewright.block.statements import Let, Rounded, Statement
from tilewright.graph.expressions.conditions import constraint_of
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Parameter, Scalar, rewrite
from tilewright.graph.rewrites.rebuild import with_used_reads
from tilewright.graph.types import Access, Guard, Operator, largest_extent
from tilewright.kernels.element_types import NUMBERS
from tilewright.lower.context import IterationDomain, Lowering, Scope
from tilewright.plan.regions.masks import LANES, KeyMask, Limit, Mask, key_mask_of, key_step, loops_around_mask
from tilewright.plan.regions.tile_domains import tile_domain
from tilewright.plan.schedule import Loop
from tilewright.records import record

MOST_PIECES = 128
FEW_PLACES = 8
"""Along an axis, up to which the first one is cut at: choices between reads then decide the most of the others."""

Bounds = Mapping[str, tuple[int, int]]
"""The points along every axis: from the first to before the second."""


@record
class Piece:
    """A part of an operator's points, where some guards are decided."""

    operator: Operator
    bounds: Bounds


def pieces(operator: Operator) -> tuple[Piece, ...]:
    """The pieces of a map, in order; the map itself where nothing can be decided, or too much."""
    bounds = {axis.name: (0, largest_extent(axis.extent)) for axis in operator.axes}
    whole = Piece(operator, bounds)
    if operator.reduction is not None or all(access.guard is None for access in operator.reads):
        return (whole,)
    found: list[Piece] = []
    for piece in _cut(_decided(whole)):
        found.append(piece)
        if len(found) > MOST_PIECES:
            return (whole,)
    return tuple(found)


def scope_of(piece: Piece, scope: Scope) -> Scope:
    """The part of the current ranges that lies in a piece. A size that is not above 0 says that there is none."""
    for axis in piece.operator.axes:
        first, end = piece.bounds[axis.name]
        if (first, end) != (0, largest_extent(axis.extent)):
            scope = scope.at(axis.name, _within(scope.ranges[axis.name], first, end))
    return scope


def _within(block: Range, first: int, end: int) -> Range:
    if block.start == 0 and isinstance(block.size, int):
        size = max(0, min(block.size, end) - first)
        return Range(first, size, block.capacity, frozenset((size,)), size)
    start = maximum(block.start, first)
    stop = minimum(block.stop, end)
    return Range(start, stop - start, block.capacity, None, block.most)


def _cut(piece: Piece) -> Iterator[Piece]:
    """A piece cut where something is decided, and so on."""
    place = _place(piece)
    if place is None:
        yield piece
        return
    axis, point = place
    first, end = piece.bounds[axis]
    for part in ((first, point), (point, end)):
        yield from _cut(_decided(replace(piece, bounds={**piece.bounds, axis: part})))


def _place(piece: Piece) -> tuple[str, int] | None:
    """The first place, or the middle one of many along its axis: what joins n parts is looked through log(n) times, not n."""
    places = list(_places(piece))
    if not places:
        return None
    points = sorted({point for axis, point in places if axis == places[0][0]})
    return places[0] if len(points) <= FEW_PLACES else (places[0][0], points[len(points) // 2])


def _places(piece: Piece) -> Iterator[tuple[str, int]]:
    """Where along an axis a constraint changes inside of a piece."""
    for constraint in _constraints(piece.operator):
        change = _change(constraint)
        if change is not None and piece.bounds[change[0]][0] < change[1] < piece.bounds[change[0]][1]:
            yield change[:2]


def _constraints(operator: Operator) -> Iterator[Index]:
    """Of guards of reads that expressions use."""
    used = dict.fromkeys(node.read for node in operator.scalars() if isinstance(node, Load))
    for number in used:
        guard = operator.reads[number].guard
        yield from guard.constraints if guard is not None else ()


def _change(constraint: Index) -> tuple[str, int, bool] | None:
    """(axis, point, whether it holds from there on, and not up to there) of a constraint of one axis."""
    match constraint.terms:
        case ((str(axis), factor),) if factor > 0:
            return axis, -(constraint.constant // factor), True
        case ((str(axis), factor),):
            return axis, constraint.constant // -factor + 1, False
    return None


def _truth(constraint: Index, bounds: Bounds) -> bool | None:
    """Whether a constraint holds at all points, or at none; None if that is not known."""
    if not constraint.terms:
        return constraint.constant >= 0
    change = _change(constraint)
    if change is None:
        return None
    axis, point, grows = change
    first, end = bounds[axis]
    return grows if point <= first else not grows if point >= end else None


def _decided(piece: Piece) -> Piece:
    """A piece without the conditions that its bounds decide."""
    operator = piece.operator
    reads, values = [], dict[Scalar, Scalar]()
    for number, access in enumerate(operator.reads):
        known = _guard_within(access, piece.bounds)
        if isinstance(known, Literal):
            values[Load(number)] = known
        reads.append(access if isinstance(known, Literal) else known)
    body = rewrite(_chosen(operator.body, piece.bounds), values.get)
    return replace(piece, operator=with_used_reads(replace(operator, reads=tuple(reads), body=body)))


def _guard_within(access: Access, bounds: Bounds) -> Access | Literal:
    """An access with what is left of its guard, or what it is where the guard does not hold."""
    if access.guard is None:
        return access
    truths = {constraint: _truth(constraint, bounds) for constraint in access.guard.constraints}
    if False in truths.values():
        return Literal(access.guard.otherwise)
    left = tuple(constraint for constraint, truth in truths.items() if truth is None)
    return replace(access, guard=Guard(left, access.guard.otherwise) if left else None)


def _chosen(body: Scalar, bounds: Bounds) -> Scalar:
    """A body without the choices by positions that are decided."""

    def decided(node: Scalar) -> Scalar | None:
        if not isinstance(node, Apply) or node.function != "where":
            return None
        constraint = constraint_of(node.operands[0])
        truth = _truth(constraint.index, bounds) if constraint is not None and not constraint.data else None
        return None if truth is None else _chosen(node.operands[1 if truth else 2], bounds)

    return rewrite(body, decided)


def restricted(state: Lowering, scope: Scope) -> tuple[tuple[Statement, ...], Scope]:
    """Where masks bound the keys of all operators: definitions of the first key and of how many there are, and the scope inside.

    Elsewhere nothing, and the same scope.
    """
    key_mask = _key_mask_here(state, scope)
    if key_mask is None:
        return (), scope
    whole = scope.ranges[key_mask.axis]
    defined, data = _data(state, key_mask, scope)
    starts, stops = _bounds(key_mask.limits, key_mask.axis, scope, data, largest=True)
    align, step = _alignment(state, key_mask)
    nodes: list[Statement] = [*defined]
    start: IntegerExpression = whole.start
    if starts:
        ahead = maximum(0, minimum(reduce(maximum, starts) - whole.start, whole.size - 1))
        start = Variable(VariableKind.DOMAIN_START, key_mask.axis)
        nodes.append(Let(start, whole.start + round_down(ahead, align)))
    size = whole.stop - start
    if stops:
        wanted = round_up(reduce(minimum, stops) - start, step)
        size = minimum(maximum(wanted, step), size)
    if isinstance(size, Operation):
        count = Variable(VariableKind.DOMAIN_SIZE, key_mask.axis)
        nodes.append(Let(count, size))
        size = count
    sizes = whole.sizes if (start, size) == (whole.start, whole.size) else _sizes(whole, align, step)
    keys = Range(start, size, whole.capacity, sizes, whole.most)
    domain = IterationDomain(key_mask.axis, keys, data)
    return tuple(nodes), replace(scope, ranges={**scope.ranges, key_mask.axis: keys}, domain=domain)


def keys_of_tiles(state: Lowering, loop: Loop, scope: Scope) -> Range | None:
    """The keys that masks let the current tile of rows see, in whole tiles, seen from outside of the loop over them.

    None where no mask bounds them, or where the loop has one tile, or cuts another one.
    """
    domain, whole = tile_domain(state.chain), scope.ranges[loop.axis]
    if domain is None or loop.axis != domain.axis or not isinstance(whole.size, int) or whole.size <= loop.tile:
        return None
    paths = (state.plan.schedule.path(name) for name in domain.operators)
    if whole.start != 0 or not all(any(one is loop for one in path) for path in paths):
        return None
    data = dict.fromkeys(domain.limits, 0)
    starts, stops = _bounds(domain.limits, domain.axis, scope, data, largest=True)
    start: IntegerExpression = 0
    if starts:
        start = round_down(maximum(0, minimum(reduce(maximum, starts), whole.size - 1)), loop.tile)
    size = whole.size - start
    if stops:
        size = minimum(maximum(round_up(reduce(minimum, stops) - start, loop.tile), loop.tile), size)
    return Range(start, size, whole.capacity, frozenset((loop.tile, whole.size)))


def _key_mask_here(state: Lowering, scope: Scope) -> KeyMask | None:
    """The masks of a chain, if the walk stands at the place from which on they bound keys."""
    key_mask = key_mask_of(state.chain)
    if key_mask is None or scope.domain is not None or state.regions is not None or state.takes_tiles:
        return None
    loops, around = loops_around_mask(state.chain, state.plan.schedule), [loop for loop, _ in scope.loops]
    return (
        key_mask if len(around) == len(loops) and all(left is right for left, right in zip(around, loops, strict=True)) else None
    )


def plain_part(guarded: Mask, scope: Scope) -> tuple[tuple[Statement, ...], IntegerExpression, IntegerExpression] | None:
    """Where in the current keys the limits of a mask hold for all rows: definitions, first key and the one behind the last.

    They count from the first of the current keys. None if nothing is known of where the limits hold.
    """
    domain = scope.domain
    if domain is None or any(limit not in domain.data for limit in guarded.limits):
        return None
    keys = scope.ranges[domain.axis]
    starts, stops = _bounds(guarded.limits, domain.axis, scope, domain.data, largest=False)
    start, stop = (Variable(kind, guarded.operator) for kind in (VariableKind.PLAIN_START, VariableKind.PLAIN_STOP))
    first: IntegerExpression = 0
    last = keys.size
    nodes: list[Statement] = []
    if starts:
        ahead = maximum(0, reduce(maximum, starts) - keys.start)
        nodes.append(Let(start, minimum(round_up(ahead, LANES), keys.size)))
        first = start
    if stops:
        until = reduce(minimum, stops) - keys.start
        until = minimum(round_down(maximum(0, until), LANES), keys.size)
        nodes.append(Let(stop, until if first == 0 else maximum(until, first)))
        last = stop
    return tuple(nodes), first, last


def _is_one_number(state: Lowering, access: Access, scope: Scope) -> bool:
    """Whether a block reads one element, which integers are made of."""
    is_one = all(scope.ranges[axis].size == 1 for axis in access.axes())
    return is_one and state.strided(access, scope).dtype in NUMBERS


def _data(state: Lowering, key_mask: KeyMask, scope: Scope) -> tuple[tuple[Statement, ...], dict[Limit, IntegerExpression]]:
    """Variables for the values of the data in limits, as far as they are the same for all rows of a block, and their sums."""
    nodes: list[Statement] = []
    values: dict[Limit, IntegerExpression] = {}
    for limit in key_mask.limits:
        access = limit.access
        if access is not None and not _is_one_number(state, access, scope):
            continue
        total: list[IntegerExpression] = []
        for datum in limit.constraint.data:
            if isinstance(datum.leaf, Parameter):
                total.append(Variable(VariableKind.EXTENT, datum.leaf.name) * datum.sign)
            elif access is not None:
                variable = Variable(VariableKind.MASK_LIMIT, key_mask.axis, len(nodes))
                element = state.strided(access, scope)
                nodes.append(Let(variable, Rounded(element, datum.rounds_up != (datum.sign < 0))))
                total.append(variable * datum.sign)
        values[limit] = sum(total)
    return tuple(nodes), values


def _bounds(
    limits: Iterable[Limit], axis: str, scope: Scope, data: Mapping[Limit, IntegerExpression], *, largest: bool
) -> tuple[list[IntegerExpression], list[IntegerExpression]]:
    """Where keys begin, and behind which they end, as far as limits say: what the rows of the current block need (`largest`), or
    what all of them need."""
    starts, stops = [], []
    for limit in limits:
        if limit not in data:
            continue
        factor = limit.index.coefficient(axis)
        if factor < 0:
            stops.append(_rest(limit, axis, scope, data[limit], largest=largest) // -factor + 1)
        elif factor == 1:
            starts.append(_rest(limit, axis, scope, data[limit], largest=largest, sign=-1))
        else:
            starts.append(_rest(limit, axis, scope, data[limit], largest=largest) // factor * -1)
    return starts, stops


def _rest(limit: Limit, axis: str, scope: Scope, data: IntegerExpression, *, largest: bool, sign: int = 1) -> IntegerExpression:
    """The largest, or the smallest, value that a limit has in the current block, but for its term of the keys, times a sign."""
    parts: list[IntegerExpression] = []
    for atom, slope in limit.index.terms:
        if atom != axis:
            rows = scope.ranges[str(atom)]
            last = (slope > 0) == largest
            parts.append((rows.stop + -1 if last else rows.start) * slope * sign)
    return sum(parts) + data * sign + limit.index.constant * sign


def _alignment(state: Lowering, key_mask: KeyMask) -> tuple[int, int]:
    """What the first key is a multiple of, counted from where its range starts, and the number of keys."""
    plans = [plan for plan in state.plan.operators if plan.roles is not None and plan.roles.column == key_mask.axis]
    columns = [state.kernels[plan.micro_kernel or ""].columns for plan in plans]
    step = key_step(columns, state.lanes)
    cuts = [p.cut.tile for p in state.packed.values() if p.cut is not None and p.cut.axis == key_mask.axis]
    return lcm(step, *columns, *cuts), step


def _sizes(whole: Range, align: int, step: int) -> frozenset[int] | None:
    """All numbers of keys that a block can have."""
    if whole.sizes is None:
        return None
    rests = (size - first for size in whole.sizes for first in range(0, size, align))
    return frozenset({size for rest in rests for size in (rest, *range(step, rest, step))})
