"""Reshape and transpose, the same elements in another order or shape, and gathers, elements at positions that data gives.

A change of shape in row-major order is an index change whose maps divide where dimensions merge; a permutation of dimensions is
one with an axis per dimension. Dimensions known at run time merge and split where the numbers of elements are equal for all
values: that is proved by the normal form of extents. Maps by integers stay index maps; divisions by run-time extents are computed
positions, which an index map, whose factors are integers, cannot say. Merging (s, t) into one dimension reads at p // t and
p % t, splitting it at i * t + j, the last row lies at s - 1. Such positions are computed as integers of 64 bits,
stored, and looked up; those that are affine stay in the index map. That they lie inside of their dimension is for whoever asks to
prove; generated code checks lookups once more.

    gather(x, ids, axis)[.., i.., ..]          = x[.., ids[i..], ..]
    gather_elements(x, ids, axis)[.., i, ..]   = x[.., ids[.., i, ..], ..]
    gather_nd(x, ids, b)[b.., i.., rest..]     = x[b.., ids[b.., i.., 0], .., ids[b.., i.., k - 1], rest..]

Gathers look the positions up in reads of the ids. Positions outside of x raise `PositionError`: those that are known when the
graph is built, then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tilewright.errors import DTypeError, ShapeError, Undecided
from tilewright.graph.builders.elementwise import copy_of, map_of, points
from tilewright.graph.expressions.extents import SymbolicExtent, compared, cuts_between, exact_quotient, planned_extent, times
from tilewright.graph.expressions.index import Index, axis, constant, floordiv, mod
from tilewright.graph.expressions.scalar import AxisValue, Load, Scalar, apply, fold, scalar_of
from tilewright.graph.shapes import Shape, normalize_axis, shape_text, symbols_of
from tilewright.graph.types import Access, Axis, Extent, Operator, Tensor
from tilewright.records import record

POSITIONS = "computed_positions"
"""The kind of operators that compute positions: exactly, since who reads them needs them stored."""


@record
class Position:
    """A whole number at every point of some dimensions of the result, as a scalar of `AxisValue("d0")`, ..., by their numbers."""

    value: Scalar
    dimensions: tuple[int, ...]


Place: TypeAlias = Index | Position
"""Where a dimension is read, by the dimensions d0, d1, ... of the result."""


def read_at(record: Callable[..., Tensor], x: Tensor, shape: Sequence[Extent], places: Sequence[Place], kind: str) -> Tensor:
    """The elements of `x` at one place per dimension, for every point of a result of this shape; `record` is a builder's."""
    computed = {d: place for d, place in enumerate(places) if isinstance(place, Position)}
    found = {d: record(positions, shape, place, kind="positions") for d, place in computed.items()}
    return record(_copy, x, tuple(shape), tuple(places), found, "copy" if found else kind, kind=kind)


def positions(shape: Sequence[Extent], place: Position, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The positions of a place, of the extents of its dimensions.

    >>> place = Position(apply("mod", AxisValue("d1"), scalar_of(3)), (1,))
    >>> operator, tensor = positions((4, 6), place, name="positions", result="p")
    >>> tensor.shape, [axis.name for axis in operator.axes]
    ((6,), ['d1'])
    """
    axes = tuple(Axis(f"d{d}", shape[d]) for d in place.dimensions)
    write = Access(result, tuple(axis(a.name) for a in axes))
    tensor = Tensor(result, tuple(a.extent for a in axes), "int64")
    return Operator(name, POSITIONS, axes, (), write, place.value, accumulator="int64"), tensor


def _copy(
    x: Tensor, shape: Shape, places: tuple[Place, ...], found: dict[int, Tensor], kind: str, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    reads = [
        Access(found[d].name, tuple(axis(f"d{n}") for n in p.dimensions)) for d, p in enumerate(places) if isinstance(p, Position)
    ]
    indices = tuple(place if isinstance(place, Index) else constant(0) for place in places)
    reads.append(Access(x.name, indices, lookups=tuple((d, number) for number, d in enumerate(found))))
    return map_of(kind, shape, reads, Load(len(reads) - 1), x.dtype, name, result)


def linear(dimensions: Sequence[tuple[int, Extent]]) -> Place:
    """The number of a point, counted row by row over dimensions of the result with these extents.

    >>> from tilewright.graph.expressions.extents import SymbolicExtent
    >>> s = SymbolicExtent("s", 1, 9, 9)
    >>> str(linear([(0, s), (1, 4)])), linear([(0, 4), (1, s)]).dimensions
    ('4*d0 + d1', (0, 1))
    """
    long = [(d, extent) for d, extent in dimensions if extent != 1]
    strides = {d: times(*(extent for _, extent in long[place + 1 :])) for place, (d, _) in enumerate(long)}
    whole = {d: stride for d, stride in strides.items() if isinstance(stride, int)}
    if len(whole) == len(strides):
        return sum((axis(f"d{d}") * stride for d, stride in whole.items()), constant(0))
    terms = [_multiple(AxisValue(f"d{d}"), stride) for d, stride in strides.items()]
    return Position(fold("add", terms), tuple(strides))


def _multiple(value: Scalar, factor: Extent) -> Scalar:
    return value if factor == 1 else apply("multiply", value, scalar_of(factor))


def as_position(place: Place) -> Position:
    """A place as a scalar: of an index map without divisions.

    >>> as_position(axis("d2") * 4 + 1).dimensions
    (2,)
    """
    if isinstance(place, Position):
        return place
    value: Scalar = scalar_of(place.constant)
    for atom, coefficient in place.terms:
        assert isinstance(atom, str), f"{place} divides"
        value = apply("add", value, apply("multiply", AxisValue(atom), scalar_of(coefficient)))
    return Position(value, tuple(sorted(int(name[1:]) for name in place.axes())))


def places(source: Shape, shape: Shape) -> tuple[Shape, list[Place]]:
    """The target without -1, and where every dimension of the source is read, by the dimensions of the target: the elements in
    row-major order.

    Raises `ShapeError` if the number of elements differs, and `Undecided` where it does for some values of dimensions.

    >>> [str(place) for place in places((6, 4), (2, 3, 4))[1]]
    ['3*d0 + d1', 'd2']
    >>> s, t = SymbolicExtent("s", 1, 9, 9), SymbolicExtent("t", 1, 9, 9)
    >>> target, (first, second) = places((s, 4), (-1,))
    >>> shape_text(target), str(first), str(second)
    ('(4*s,)', '(d0)//4', '(d0)%4')
    >>> [type(place).__name__ for place in places((s, t), (times(s, t),))[1]]
    ['Position', 'Position']
    """
    target = _complete(source, shape)
    found: list[Place] = []
    for old, new in _groups(source, target):
        found += _group_places([source[d] for d in old], [(d, target[d]) for d in new])
    return target, found


def _complete(source: Shape, target: Shape) -> Shape:
    """The target without -1; refuses a different number of elements."""
    unknown = [position for position, extent in enumerate(target) if extent == -1]
    known = tuple(extent for extent in target if extent != -1)
    if len(unknown) > 1 or any(isinstance(e, int) and e < -1 for e in target):
        raise ShapeError(_text(source, target), where="reshape", why="only one extent may be -1")
    if not unknown:
        _check_equal(source, target)
        return target
    extent = None if 0 in known else exact_quotient(times(*source), times(*known))
    if extent is None:
        problem = Undecided if symbols_of((*source, *known)) else ShapeError
        raise problem(_text(source, target), where="reshape", why="no extent in place of -1 fits")
    return (*target[: unknown[0]], extent, *target[unknown[0] + 1 :])


def _check_equal(source: Shape, target: Shape) -> None:
    """Raise `ShapeError` for another number of elements, and `Undecided` where that depends on dimensions."""
    if times(*source) == times(*target):
        return
    why = "the numbers of elements differ"
    if compared(times(*source), times(*target)) is not None:
        raise ShapeError(_text(source, target), where="reshape", why=why)
    problem = Undecided(_text(source, target), where="reshape", why=f"{why} for some extents")
    raise problem.with_cuts(cuts_between(times(*source), times(*target)))


def _text(source: Shape, target: Shape) -> str:
    return f"cannot reshape {shape_text(source)} into {shape_text(target)}"


def _groups(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """The finest split of both shapes into runs of dimensions with equal numbers of elements."""
    if 0 in source:
        return [(list(range(len(source))), list(range(len(target))))]
    groups: list[tuple[list[int], list[int]]] = []
    left, right = 0, 0
    while left < len(source) or right < len(target):
        old, new = [left] if left < len(source) else [], [right] if right < len(target) else []
        left, right = left + len(old), right + len(new)
        while (before := times(*(source[d] for d in old))) != (after := times(*(target[d] for d in new))):
            if right < len(target) and (left == len(source) or _behind(before, after)):
                new.append(right)
                right += 1
            else:
                old.append(left)
                left += 1
        groups.append((old, new))
    return groups


def _behind(before: Extent, after: Extent) -> bool:
    """Whether the target's run has fewer elements so far than the source's; any answer leads to equal runs in the end."""
    if exact_quotient(before, after) is not None:
        return True
    return exact_quotient(after, before) is None and planned_extent(after) < planned_extent(before)


def _group_places(old: Sequence[Extent], new: Sequence[tuple[int, Extent]]) -> list[Place]:
    """Where every old dimension of a group is read, by the new ones.

    The outermost quotient needs no remainder: the number of a point is less than the number of elements.
    """
    if 0 in old:
        return [constant(0)] * len(old)
    total = linear(new) if new else constant(0)
    extents = {f"d{d}": extent for d, extent in new if isinstance(extent, int)}
    outermost = next((d for d, extent in enumerate(old) if extent != 1), 0)
    found: list[Place] = []
    inner: Extent = 1
    for d, extent in reversed(list(enumerate(old))):
        found.append(constant(0) if extent == 1 else _digit(total, inner, None if d == outermost else extent, extents))
        inner = times(inner, extent)
    return found[::-1]


def _digit(total: Place, inner: Extent, extent: Extent | None, extents: Mapping[str, int]) -> Place:
    """`total // inner % extent`; without an extent no remainder is taken."""
    if isinstance(total, Index) and isinstance(inner, int) and not isinstance(extent, SymbolicExtent):
        quotient = floordiv(total, inner, extents)
        return quotient if extent is None else mod(quotient, extent, extents)
    value = as_position(total).value
    value = value if inner == 1 else apply("floor_divide", value, scalar_of(inner))
    value = value if extent is None else apply("mod", value, scalar_of(extent))
    return Position(value, as_position(total).dimensions)


def factors(source: Shape, target: Shape) -> list[tuple[Extent, ...]]:
    """For every dimension of the target, factors of its extent, into which the dimensions of the source can be cut.

    A dimension that cannot be cut is its own factor, and so are those behind it.

    >>> s, t = SymbolicExtent("s", 1, 9, 9), SymbolicExtent("t", 1, 9, 9)
    >>> [shape_text(each) for each in factors((3, 8, s, t), (3, 4, times(2, s, t)))]
    ['(3,)', '(4,)', '(2, s, t)']
    """
    rest = list(source)
    return [_cut(rest, extent) for extent in target]


def _cut(rest: list[Extent], extent: Extent) -> tuple[Extent, ...]:
    """Factors of an extent, taken from the front of `rest`."""
    taken: list[Extent] = []
    missing = extent
    while missing != 1 and rest:
        first = rest.pop(0)
        if (quotient := exact_quotient(missing, first)) is not None:
            taken, missing = [*taken, first], quotient
        elif (quotient := exact_quotient(first, missing)) is not None:
            rest.insert(0, quotient)
            taken, missing = [*taken, missing], 1
        else:
            rest.clear()
    return tuple(taken) if missing == 1 else (extent,)


def transpose(x: Tensor, axes: Sequence[int] | None = None, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Dimension i of the result is dimension `axes[i]` of `x`; None reverses the order. Raises `ShapeError` for no permutation.

    >>> transpose(Tensor("x", (2, 3, 4)), (2, 0, 1), name="transpose", result="y")[1].shape
    (4, 2, 3)
    """
    rank = len(x.shape)
    where = f"transpose of {shape_text(x.shape)}"
    order = tuple(reversed(range(rank))) if axes is None else tuple(normalize_axis(a, rank, where) for a in axes)
    if sorted(order) != list(range(rank)):
        raise ShapeError(f"{tuple(axes or ())} is no permutation of {rank} dimensions", where=where)
    source = [axis(f"d{order.index(dimension)}") for dimension in range(rank)]
    return copy_of("transpose", x, [x.shape[dimension] for dimension in order], source, name, result)


INDEX_TYPES = ("int32", "int64")


def gather(x: Tensor, ids: Tensor, axis: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The slices of `x` along `axis` at the positions `ids`, whose dimensions take that axis's place.

    >>> operator, tensor = gather(Tensor("words", (100, 8)), Tensor("ids", (2, 3), "int64"), name="gather", result="y")
    >>> tensor.shape, operator.reads[1].lookups
    ((2, 3, 8), ((0, 0),))
    """
    where = _checked(x, ids, "Gather")
    chosen = normalize_axis(axis, len(x.shape), where)
    shape = (*x.shape[:chosen], *ids.shape, *x.shape[chosen + 1 :])
    rank = len(ids.shape)
    along = points(len(shape))
    id_indices, indices = along[chosen : chosen + rank], (*along[:chosen], constant(0), *along[chosen + rank :])
    return _looked_up(x, shape, indices, {chosen: Access(ids.name, id_indices)}, name, result)


def gather_elements(x: Tensor, ids: Tensor, axis: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """For every element of `ids` the element of `x` at its position, but for `axis`, along which `ids` says the position.

    >>> gather_elements(Tensor("x", (5, 4)), Tensor("ids", (2, 4), "int64"), name="gather", result="y")[1].shape
    (2, 4)
    """
    where = _checked(x, ids, "GatherElements")
    chosen = normalize_axis(axis, len(x.shape), where)
    if len(ids.shape) != len(x.shape) or any(
        not _fits(length, extent) for d, (length, extent) in enumerate(zip(ids.shape, x.shape, strict=True)) if d != chosen
    ):
        raise ShapeError("indices and data do not lie over each other", where=where)
    id_indices = points(len(ids.shape))
    indices = tuple(constant(0) if d == chosen else index for d, index in enumerate(id_indices))
    return _looked_up(x, ids.shape, indices, {chosen: Access(ids.name, id_indices)}, name, result)


def gather_nd(x: Tensor, ids: Tensor, batch_dims: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The slices of `x` at the positions that the last dimension of `ids` holds, behind `batch_dims` common dimensions.

    >>> gather_nd(Tensor("x", (5, 4, 3)), Tensor("ids", (7, 2), "int64"), name="gather", result="y")[1].shape
    (7, 3)
    """
    where = _checked(x, ids, "GatherND")
    depth = ids.shape[-1] if ids.shape else 0
    if not isinstance(depth, int) or not 0 <= batch_dims < len(ids.shape) or batch_dims + depth > len(x.shape):
        raise ShapeError(f"{depth} positions behind {batch_dims} common dimensions", where=where)
    if not depth or ids.shape[:batch_dims] != x.shape[:batch_dims]:
        raise ShapeError("the common dimensions differ, or there are no positions", where=where)
    shape = (*ids.shape[:-1], *x.shape[batch_dims + depth :])
    id_indices, rest = points(len(ids.shape) - 1), points(len(shape))[len(ids.shape) - 1 :]
    indices = (*id_indices[:batch_dims], *(constant(0) for _ in range(depth)), *rest)
    lookups = {batch_dims + k: Access(ids.name, (*id_indices, constant(k))) for k in range(depth)}
    return _looked_up(x, shape, indices, lookups, name, result)


def gather_each(
    x: Tensor, ids: Mapping[int, Tensor], common: Shape, first: int, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The elements of `x` whose positions along some dimensions are given, each by its dimension, and broadcast to `common`.

    The dimensions of `common` stand in the result from number `first` on; the others of `x` keep their order.

    >>> ids = {0: Tensor("rows", (6, 1), "int64"), 2: Tensor("columns", (7,), "int64")}
    >>> gather_each(Tensor("x", (5, 4, 3)), ids, (6, 7), 0, name="gather", result="y")[1].shape
    (6, 7, 4)
    """
    for tensor in ids.values():
        _checked(x, tensor, "index")
    rest = [d for d in range(len(x.shape)) if d not in ids]
    shape = (*(x.shape[d] for d in rest[:first]), *common, *(x.shape[d] for d in rest[first:]))
    along = points(len(shape))
    places = along[first : first + len(common)]
    free = dict(zip(rest, (*along[:first], *along[first + len(common) :]), strict=True))
    indices = tuple(free.get(d, constant(0)) for d in range(len(x.shape)))
    lookups = {d: Access(tensor.name, broadcast_indices(tensor.shape, common, places)) for d, tensor in ids.items()}
    return _looked_up(x, shape, indices, lookups, name, result)


def broadcast_indices(shape: Shape, into: Shape, places: Sequence[Index]) -> tuple[Index, ...]:
    """Where the dimensions of a tensor that broadcasts to a shape are read, given the positions along those of that shape."""
    missing = len(into) - len(shape)
    return tuple(constant(0) if extent == 1 and into[d] != 1 else places[d] for d, extent in enumerate(shape, missing))


def _fits(length: object, extent: object) -> bool:
    return length == extent or (isinstance(length, int) and isinstance(extent, int) and length <= extent)


def _checked(x: Tensor, ids: Tensor, kind: str) -> str:
    where = f"{kind} of {shape_text(x.shape)} by {shape_text(ids.shape)}"
    if ids.dtype not in INDEX_TYPES:
        raise DTypeError(f"positions of type {ids.dtype}", where=where, hint=f"they are {' or '.join(INDEX_TYPES)}")
    return where


def _looked_up(
    x: Tensor, shape: Shape, indices: tuple[Index, ...], lookups: dict[int, Access], name: str, result: str
) -> tuple[Operator, Tensor]:
    """A map that reads `x` where `lookups` say by dimension; those of no extent have no position to be held to."""
    if any(x.shape[dimension] == 0 for dimension in lookups) and 0 not in shape:
        raise ShapeError("there is nothing to choose from", where=f"gather of {shape_text(x.shape)}")
    reads = (*lookups.values(), Access(x.name, indices, lookups=tuple((d, n) for n, d in enumerate(lookups))))
    return map_of("gather", shape, reads, Load(len(lookups)), x.dtype, name, result)
