"""Maps, reductions and ranges of whole tensors.

Maps: one scalar expression of the elements at a point, with broadcasting; also copies and changes of element type.

Reductions over any axes: sum, prod, max, min, mean.

Ranges: evenly spaced numbers, by the positions along an axis. No memory is read, and readers compute them where they need
them. Extents known at run time are numbers of this kind, too: maps of nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.exactness import LARGEST_WHOLE, SHORT_TYPES
from tilewright.graph.expressions.extents import Extent, SymbolicExtent, ceil_quotient, largest_extent, maximum, minus, range_of
from tilewright.graph.expressions.index import Index, axis, constant, floordiv
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Point, Scalar, State, apply, scalar_of
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.shapes import Shape, broadcast_shapes, normalize_axes, shape_text, symbols_of
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Operator, Reduction, StateVariable, Tensor

_X = Load(0)


COMPOSITES: Mapping[str, Scalar] = MappingProxyType(
    {"relu": apply("maximum", _X, Literal(0.0)), "clip": apply("minimum", apply("maximum", _X, Load(1)), Load(2)), "positive": _X}
)
"""Functions made of others, as bodies over `Load(0)`, `Load(1)`, ... in place of their operands."""
IS_TRUE = apply("not_equal", _X, Literal(0.0))
"""Numbers as truth values."""
CHOSEN_TRUTH = apply("logical_or", apply("logical_and", _X, Load(1)), apply("logical_and", apply("logical_not", _X), Load(2)))
"""`where` of truth values: `Load(1)` where `Load(0)` is true, else `Load(2)`."""

_UPPER = apply("left_shift", apply("right_shift", _X, Literal(11.0)), Literal(11.0))
_ODD = apply("where", apply("equal", _UPPER, _X), _X, apply("bitwise_or", _UPPER, Literal(2.0**11)))
_ROUNDED_TO_ODD = apply("where", apply("less", apply("abs", _X), Literal(2.0**53)), _X, _ODD)
"""Integers of 64 bits as those that float64 holds: the last digit that is left says whether any was lost."""


def cast_steps(source: str, target: str) -> Iterator[tuple[Scalar, str]]:
    """Bodies and types of the maps that convert elements: kernels round to halves from float64, which lacks long integers.

    >>> [dtype for _, dtype in cast_steps("int64", "bfloat16")], [dtype for _, dtype in cast_steps("int64", "float32")]
    (['int64', 'bfloat16'], ['float32'])
    """
    if target == "bfloat16" and source in ("int64", "uint64"):
        yield _ROUNDED_TO_ODD, source
    yield _X, target


def body_of(function: str) -> Scalar:
    """The body of a function of FUNCTIONS or COMPOSITES over `Load(0)`, `Load(1)`, ...

    >>> body_of("relu")
    Apply(function='maximum', operands=(Load(read=0), Literal(value=0.0)))
    """
    if function in COMPOSITES:
        return COMPOSITES[function]
    return Apply(function, tuple(Load(read) for read in range(FUNCTIONS[function].arity)))


def has_simple_power(exponent: float) -> bool:
    """Whether a power is some products, a square root and a quotient: a multiple of 1/2 in -16..16."""
    return exponent * 2 % 1 == 0 and -16 <= exponent <= 16


def power_body(exponent: float) -> Scalar:
    """`Load(0)` to a power that is a multiple of 1/2, by repeated squaring.

    Negative even ones are squares of a reciprocal: x^4 overflows where 1 / x^4 is a denormal number, x^2 does not.
    """
    if exponent < 0:
        root = apply("reciprocal", power_body(-exponent / 2 if exponent % 2 == 0 else -exponent))
        return apply("square", root) if exponent % 2 == 0 else root
    if exponent == 0:
        return apply("where", apply("equal", _X, _X), Literal(1.0), Literal(1.0))  # 1 for NaN and infinities, too
    if exponent % 1:
        root = apply("sqrt", _X)
        return root if exponent < 1 else _of_zeros_too(apply("multiply", power_body(exponent - 0.5), root))
    if exponent == 1:
        return _X
    even = apply("square", power_body(exponent // 2))
    return apply("multiply", even, _X) if exponent % 2 else even


def _of_zeros_too(power: Scalar) -> Scalar:
    """A power of `Load(0)` above 1, but of zeros and infinities, which are their own doubles, that of their size."""
    return apply("where", apply("equal", apply("add", _X, _X), _X), apply("square", _X), power)


def elementwise(
    body: Scalar,
    operands: Sequence[Tensor],
    *,
    name: str,
    result: str,
    dtype: str | None = None,
    accumulator: str | None = None,
    kind: str = "map",
) -> tuple[Operator, Tensor]:
    """`body` at every point of the operands' common shape; `Load(i)` is the element of operand i.

    Dimensions of extent 1 that broadcast are read at index 0, missing leading ones not at all. `dtype` defaults to the operands'
    common type, and the type to compute in, `accumulator`, follows from it. Raises `ShapeError` if the shapes do not broadcast.

    >>> operator, tensor = elementwise(
    ...     body_of("add"), [Tensor("x", (4, 3)), Tensor("b", (3,))], name="add", result="y", kind="add"
    ... )
    >>> tensor.shape, str(operator.reads[1].indices[0])
    ((4, 3), 'd1')
    """
    shape = broadcast_shapes([tensor.shape for tensor in operands], where=kind)
    reads = [Access(tensor.name, _broadcast_indices(tensor.shape, shape)) for tensor in operands]
    common = np.result_type(*(tensor.dtype for tensor in operands)).name
    stored = dtype or common
    computed = accumulator or accumulator_of(common if stored == "bool" else stored)
    return map_of(kind, shape, reads, body, stored, name, result, computed)


def broadcast(x: Tensor, shape: Shape, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A copy of `x` repeated along dimensions of extent 1 and new leading ones; `x` must broadcast to `shape`.

    >>> broadcast(Tensor("x", (3, 1)), (2, 3, 4), name="broadcast", result="y")[1].shape
    (2, 3, 4)
    """
    return copy_of("broadcast", x, shape, _broadcast_indices(x.shape, shape), name, result)


def copy_of(
    kind: str, x: Tensor, shape: Sequence[Extent], indices: Sequence[Index], name: str, result: str
) -> tuple[Operator, Tensor]:
    """Elements of `x` in another shape: each is read at these indices, by the axes of `map_of`."""
    return map_of(kind, shape, [Access(x.name, tuple(indices))], Load(0), x.dtype, name, result)


def map_of(
    kind: str,
    shape: Sequence[Extent],
    reads: Sequence[Access],
    body: Scalar,
    dtype: str,
    name: str,
    result: str,
    computed: str = "",
) -> tuple[Operator, Tensor]:
    """An operator that writes every point of its result once; its axes d0, d1, ... are the dimensions of that.

    It computes in the type `computed`, which follows from the element type unless it is given.
    """
    axes = axes_of(shape)
    write, accumulator = Access(result, points(len(axes))), computed or accumulator_of(dtype)
    return Operator(name, kind, axes, tuple(reads), write, body, accumulator=accumulator), Tensor(result, tuple(shape), dtype)


def axes_of(shape: Sequence[Extent], reduced: Collection[int] = ()) -> tuple[Axis, ...]:
    """The axes d0, d1, ... of the dimensions of a shape; some of them are reduced.

    >>> [(axis.name, axis.kind.value) for axis in axes_of((2, 5), reduced=(1,))]
    [('d0', 'parallel'), ('d1', 'reduction')]
    """
    kinds = (AxisKind.REDUCTION if dimension in reduced else AxisKind.PARALLEL for dimension in range(len(shape)))
    return tuple(Axis(f"d{dimension}", extent, kind) for dimension, (extent, kind) in enumerate(zip(shape, kinds, strict=True)))


def points(rank: int) -> tuple[Index, ...]:
    """The position along every one of so many axes d0, d1, ...

    >>> [str(index) for index in points(2)]
    ['d0', 'd1']
    """
    return tuple(axis(f"d{dimension}") for dimension in range(rank))


def accumulator_of(dtype: str) -> str:
    """The type to compute in: the element type itself; int32 for shorter integers, float32 for truth values and shorter types."""
    if dtype == "bool" or dtype in SHORT_TYPES:
        return "float32"
    return "int32" if np.dtype(dtype).name in ("int8", "uint8", "int16", "uint16") else dtype


def numpy_reference(function: str) -> Callable[..., Any]:
    """The function of that name on arrays, in their precision."""

    return lambda *operands: computed(body_of(function), operands)


def computed(body: Scalar, operands: Sequence[Any], literal: Callable[[float], float] = float) -> Any:
    """A body on arrays, in their precision; `literal` gives the numbers in it.

    >>> computed(body_of("relu"), [np.array([-1, 2])], int).tolist()
    [0, 2]
    """
    with np.errstate(all="ignore"):
        return _computed(body, [np.asarray(operand)[()] for operand in operands], literal)


def _computed(scalar: Scalar, operands: Sequence[Any], literal: Callable[[float], float]) -> Any:
    match scalar:
        case Load(read):
            return operands[read]
        case Literal(value):
            return literal(value)
        case Apply(function, inner):
            return FUNCTIONS[function].numpy(*(_computed(operand, operands, literal) for operand in inner))
    raise TypeError(f"{scalar} has no place in an elementwise body")


def _broadcast_indices(shape: Shape, into: Shape) -> tuple[Index, ...]:
    missing = len(into) - len(shape)
    return tuple(broadcast_index(extent, into[d], f"d{d}") for d, extent in enumerate(shape, missing))


def broadcast_index(extent: Extent, full: Extent, along: str) -> Index:
    """Where a dimension is read along an axis: at its only element where it broadcasts."""
    return constant(0) if extent == 1 and full != 1 else axis(along)


def repeat(x: Tensor, along: int, count: int, extent: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element `count` times along a dimension, of which the first `extent` are kept, as `numpy.repeat`.

    There are at least `extent / count` elements along the dimension.

    >>> operator, tensor = repeat(Tensor("x", (2, 3)), 1, 4, 10, name="repeat", result="y")
    >>> tensor.shape, str(operator.reads[0].indices[1])
    ((2, 10), '(d1)//4')
    """
    shape = (*x.shape[:along], extent, *x.shape[along + 1 :])
    indices = [floordiv(index, count) if d == along else index for d, index in enumerate(points(len(shape)))]
    return copy_of("repeat", x, shape, indices, name, result)


REDUCTIONS: Mapping[str, Reduction] = {
    "sum": SUM,
    "prod": Reduction((StateVariable("product", 1.0, Point(), "multiply"),), State("product")),
    "max": Reduction((StateVariable("maximum", float("-inf"), Point(), "maximum"),), State("maximum")),
    "min": Reduction((StateVariable("minimum", float("inf"), Point(), "minimum"),), State("minimum")),
}
"""What is carried by each reduction; `mean` is a sum whose finish divides by the number of points."""


def reduce(
    function: str, x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """`function` (sum, prod, max, min, mean) over the dimensions `axis` (None: all); `keepdims` leaves them with extent 1.

    Raises `ShapeError` for an axis that does not exist, and for max, min and mean over no elements.

    >>> operator, tensor = reduce("max", Tensor("x", (4, 3)), axis=1, name="max", result="y")
    >>> tensor.shape, operator.is_row_reduction()
    ((4,), True)
    """
    chosen = normalize_axes(axis, len(x.shape), where=function)
    reduced = [x.shape[dimension] for dimension in chosen]
    if 0 in reduced and function not in ("sum", "prod"):
        raise ShapeError(f"{function} over no elements", where=f"{function} of {shape_text(x.shape)} over axes {chosen}")
    mean = Reduction(SUM.states, apply("divide", State("sum"), point_count(reduced)))
    carried = mean if function == "mean" else REDUCTIONS[function]
    return combined(function, x, chosen, keepdims, carried if chosen else None, x.dtype, name, result)


def combined(
    kind: str, x: Tensor, axes: Sequence[int], keepdims: bool, reduction: Reduction | None, dtype: str, name: str, result: str
) -> tuple[Operator, Tensor]:
    """A reduction of the elements along these dimensions, from the first on, to elements of type `dtype`."""
    indices = points(len(x.shape))
    kept = [(constant(0), 1) if d in axes else (index, x.shape[d]) for d, index in enumerate(indices)]
    kept = kept if keepdims else [pair for d, pair in enumerate(kept) if d not in axes]
    read, write = Access(x.name, indices), Access(result, tuple(index for index, _ in kept))
    operator = Operator(name, kind, axes_of(x.shape, axes), (read,), write, Load(0), reduction, accumulator_of(x.dtype))
    return operator, Tensor(result, tuple(extent for _, extent in kept), dtype)


def point_count(extents: Sequence[Extent]) -> Scalar:
    """The number of points in a row: the product of its extents; those known at run time are parameters."""
    count: Scalar = Literal(float(math.prod(extent for extent in extents if isinstance(extent, int))))
    for extent in extents:
        if isinstance(extent, SymbolicExtent):
            count = apply("multiply", count, scalar_of(extent))
    return count


def arange(
    extent: Extent, start: float | SymbolicExtent, step: float, dtype: str, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """`start + step * i` for i in 0..extent-1, of shape (extent,). Raises `ShapeError` for whole numbers beyond 2^24.

    >>> operator, tensor = arange(4, 0, 1, "int64", name="arange", result="y")
    >>> operator.body, operator.reads, tensor.shape
    (AxisValue(axis='d0'), (), (4,))
    """
    _check_exact(extent, start, step)
    body: Scalar = AxisValue("d0")
    body = body if abs(step) == 1 else apply("multiply", body, Literal(float(abs(step))))
    first = scalar_of(start) if isinstance(start, SymbolicExtent) else Literal(float(start))
    if step < 0:
        body = apply("subtract", first, body)  # no factor is negative: unsigned integers have none
    elif start != 0:
        body = apply("add", body, first)
    return map_of("arange", (extent,), (), body, dtype, name, result)


def held_positions(extent: Extent, begin: Extent, length: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Where `extent` positions lie in a part of `length` that begins at `begin`; outside of it, at its first or last element."""
    operator, tensor = arange(extent, 0, 1, "int64", name=name, result=result)
    ahead = apply("subtract", operator.body, scalar_of(begin)) if begin != 0 else operator.body
    last = apply("subtract", scalar_of(length), Literal(1.0))
    body = apply("maximum", apply("minimum", ahead, last), Literal(0.0))
    return Operator(name, "positions", operator.axes, (), operator.write, body, accumulator="int64"), tensor


def range_length(first: Any, last: Any, step: Any) -> Extent:
    """How many numbers are before `last`; first and last may be symbolic extents. Raises `ArithmeticError` where there is none.

    Python's integers are exact; those of 64 bits are no doubles.

    >>> range_length(0, 7, 2), range_length(1.0, 0.0, -0.25)
    (4, 4)
    """
    if isinstance(first, SymbolicExtent) or isinstance(last, SymbolicExtent):
        return ceil_quotient(maximum(minus(last, first) if step > 0 else minus(first, last), 0), abs(step))
    if all(isinstance(number, int) for number in (first, last, step)):
        return max(0, -int((first - last) // step))
    count: int = math.ceil((last - first) / step)
    return max(0, count)


def _check_exact(extent: Extent, start: float | SymbolicExtent, step: float) -> None:
    most = largest_extent(extent)
    bounds = range_of(start) if isinstance(start, SymbolicExtent) else (start, start)
    ends = (*bounds, bounds[0] + step * max(most - 1, 0), bounds[1] + step * max(most - 1, 0))
    if all(float(number).is_integer() for number in (*bounds, step)) and max(map(abs, ends)) > LARGEST_WHOLE:
        of = f" of {extent}" if symbols_of([extent]) else ""
        raise ShapeError(
            f"arange runs from {ends[0]} to {ends[-1]}{of}",
            where="arange",
            why=f"kernels compute positions in float32, in which integers are exact up to {LARGEST_WHOLE}",
            hint="give a symbolic extent a smaller upper end, or count blocks",
        )


def extent(symbol: SymbolicExtent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The value of a symbol, of shape ().

    >>> extent(SymbolicExtent("s", 1, 64, 32), name="extent", result="y")[0].body
    Parameter(name='s')
    """
    return map_of("extent", (), (), scalar_of(symbol), "int64", name, result)


def extents(values: np.ndarray[Any, Any], dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """An array of integers and run-time extents as data: by the position in it.

    >>> values = np.array([SymbolicExtent("s", 1, 64, 32), 4], object)
    >>> operator, tensor = extents(values, "int64", name="shape", result="y")
    >>> tensor.shape, operator.body.function
    ((2,), 'where')
    """
    return map_of("shape", values.shape, (), _chosen(values.tolist(), 0), dtype, name, result)


def _chosen(values: Any, dimension: int) -> Scalar:
    """The element at the positions along the axes from a dimension on."""
    if not isinstance(values, list):
        return scalar_of(values if isinstance(values, SymbolicExtent) else int(values))
    body = _chosen(values[-1], dimension + 1)
    for position in reversed(range(len(values) - 1)):
        here = apply("less", AxisValue(f"d{dimension}"), Literal(position + 1.0))
        body = apply("where", here, _chosen(values[position], dimension + 1), body)
    return body
