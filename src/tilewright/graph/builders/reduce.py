"""Reductions over any axes: sum, prod, max, min, mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import accumulator_of, axes_of, points
from tilewright.graph.index import constant
from tilewright.graph.scalar import Literal, Load, Point, Scalar, State, apply, scalar_of
from tilewright.graph.shapes import normalize_axes, shape_text
from tilewright.graph.types import SUM, Access, Extent, Operator, Reduction, StateVariable, SymbolicExtent, Tensor

REDUCTIONS: Mapping[str, Reduction] = MappingProxyType(
    {
        "sum": SUM,
        "prod": Reduction((StateVariable("product", 1.0, Point(), "multiply"),), State("product")),
        "max": Reduction((StateVariable("maximum", float("-inf"), Point(), "maximum"),), State("maximum")),
        "min": Reduction((StateVariable("minimum", float("inf"), Point(), "minimum"),), State("minimum")),
    }
)
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
