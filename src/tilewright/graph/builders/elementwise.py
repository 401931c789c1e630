"""Maps: one scalar expression of the elements at a point, with broadcasting; also copies and changes of element type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.index import Index, axis, constant, floordiv
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, apply
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.shapes import Shape, broadcast_shapes
from tilewright.graph.types import Access, Axis, AxisKind, Extent, Operator, Tensor

_X = Load(0)


COMPOSITES: Mapping[str, Scalar] = MappingProxyType(
    {"relu": apply("maximum", _X, Literal(0.0)), "clip": apply("minimum", apply("maximum", _X, Load(1)), Load(2)), "positive": _X}
)
"""Functions made of others, as bodies over `Load(0)`, `Load(1)`, ... in place of their operands."""
CHOSEN_TRUTH = apply("logical_or", apply("logical_and", _X, Load(1)), apply("logical_and", apply("logical_not", _X), Load(2)))
"""`where` of truth values: `Load(1)` where `Load(0)` is true, else `Load(2)`."""


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

    def evaluate(*operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return _evaluate(body_of(function), operands)

    return evaluate


def _evaluate(scalar: Scalar, operands: Sequence[Any]) -> Any:
    match scalar:
        case Load(read):
            return np.asarray(operands[read])[()]
        case Literal(value):
            return value
        case Apply("reciprocal", (operand,)):
            return 1 / _evaluate(operand, operands)
        case Apply(function, inner):
            return FUNCTIONS[function].numpy(*(_evaluate(operand, operands) for operand in inner))
    raise TypeError(f"{scalar} has no place in an elementwise body")


def _broadcast_indices(shape: Shape, into: Shape) -> tuple[Index, ...]:
    missing = len(into) - len(shape)
    return tuple(_index(extent, into[missing + position], missing + position) for position, extent in enumerate(shape))


def _index(extent: Extent, full: Extent, dimension: int) -> Index:
    return constant(0) if extent == 1 and full != 1 else axis(f"d{dimension}")


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
