"""ArgMax and ArgMin of ONNX: the position of the largest or smallest element, the first or the last of equal ones.

A reduction with two states: the extreme, then the least (or greatest) position at which it stands. A NaN is an extreme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import constant
from tilewright.graph.operators.elementwise import accumulator_of
from tilewright.graph.scalar import AxisValue, Literal, Load, Point, State, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Reduction, StateVariable, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

"""Positions up to here are exact in float32."""


def position_of(
    function: str, x: Tensor, axis: int, keepdims: bool, last: bool, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The position of the `maximum` or `minimum` along `axis`.

    >>> position_of("maximum", Tensor("x", (4, 3)), 1, True, False, name="arg_max", result="y")[1]
    Tensor(name='y', shape=(4, 1), dtype='int64')
    """
    axes = tuple(
        Axis(f"d{d}", extent, AxisKind.REDUCTION if d == axis else AxisKind.PARALLEL) for d, extent in enumerate(x.shape)
    )
    own = tuple(axis_index(a.name) for a in axes)
    kept = [(constant(0), 1) if d == axis else (index, x.shape[d]) for d, index in enumerate(own)]
    kept = kept if keepdims else [pair for d, pair in enumerate(kept) if d != axis]
    extent = x.shape[axis]
    reduction = _extreme_and_position(function, f"d{axis}", extent if isinstance(extent, int) else extent.high, last)
    write = Access(result, tuple(index for index, _ in kept))
    operator = Operator(name, "position", axes, (Access(x.name, own),), write, Load(0), reduction, accumulator_of(x.dtype))
    return operator, Tensor(result, tuple(extent for _, extent in kept), "int64")


def _extreme_and_position(function: str, axis: str, extent: int, last: bool) -> Reduction:
    start = float("-inf") if function == "maximum" else float("inf")
    is_nan = apply("not_equal", Point(), Point())
    stands_here = apply("logical_or", apply("equal", Point(), State("extreme")), is_nan)
    nowhere = -1.0 if last else float(extent)
    position = StateVariable(
        "position",
        nowhere,
        apply("where", stands_here, AxisValue(axis), Literal(nowhere)),
        "maximum" if last else "minimum",
    )
    return Reduction((StateVariable("extreme", start, Point(), function), position), State("position"))


def _found(function: Any, x: Any, axis: int, keepdims: int, last: int) -> Any:
    axis = normalize_axis(axis, x.ndim, "ArgMax")
    if x.shape[axis] == 0:
        raise ShapeError("the extreme of no elements", where=f"ArgMax or ArgMin of {x.shape} along axis {axis}")
    positions = function(np.flip(x, axis) if last else x, axis=axis)
    positions = x.shape[axis] - 1 - positions if last else positions
    return np.asarray(np.expand_dims(positions, axis) if keepdims else positions, np.int64)


def max_meaning(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    """The same by NumPy."""
    return _found(np.argmax, x, axis, keepdims, select_last_index)


def min_meaning(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    """The same by NumPy."""
    return _found(np.argmin, x, axis, keepdims, select_last_index)


def _lowered(function: str, builder: Builder, x: Tensor, axis: int, keepdims: int, last: int) -> Tensor:
    axis = normalize_axis(axis, len(x.shape), "ArgMax")
    extent = x.shape[axis]
    if extent == 0:
        raise ShapeError("the extreme of no elements", where=f"ArgMax or ArgMin of {shape_text(x.shape)} along axis {axis}")
    if (extent if isinstance(extent, int) else extent.high) > LARGEST_WHOLE:
        raise UnsupportedOperation(f"ArgMax or ArgMin along {extent} elements in generated code")
    return builder.record(position_of, function, x, axis, bool(keepdims), bool(last), kind="position")


def max_lower(builder: Builder, x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    """A reduction with a position in its state."""
    return _lowered("maximum", builder, x, axis, keepdims, select_last_index)


def min_lower(builder: Builder, x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    """A reduction with a position in its state."""
    return _lowered("minimum", builder, x, axis, keepdims, select_last_index)


define("ArgMax", max_meaning, max_lower)
define("ArgMin", min_meaning, min_lower)
