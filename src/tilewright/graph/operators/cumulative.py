"""CumSum and CumProd of ONNX: of every element and those before it along an axis.

Generated code reduces, for every position, the elements up to it behind a guard. That is quadratic work, so only short axes are
compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.index import Index
from tilewright.graph.index import axis as axis_index
from tilewright.graph.operators.elementwise import accumulator_of
from tilewright.graph.operators.reduce import REDUCTIONS
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Operator, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

LONGEST = 64
"""Elements along the axis up to which every sum is made anew."""


def cumulate(
    function: str, x: Tensor, axis: int, exclusive: bool, reverse: bool, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """`sum` or `prod` of the elements along `axis` up to each position, or from it on; without its own if `exclusive`.

    >>> cumulate("sum", Tensor("x", (4, 3)), 0, False, False, name="cumsum", result="y")[1].shape
    (4, 3)
    """
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(x.shape))
    own, taken = [axis_index(a.name) for a in axes], axis_index("k")
    ahead: Index = taken - own[axis] if reverse else own[axis] - taken
    indices = tuple(taken if d == axis else index for d, index in enumerate(own))
    guard = Guard((ahead - 1 if exclusive else ahead,), 0.0 if function == "sum" else 1.0)
    loops = (*axes, Axis("k", x.shape[axis], AxisKind.REDUCTION))
    read, write = Access(x.name, indices, guard), Access(result, tuple(own))
    kind = f"cum{function}"
    operator = Operator(name, kind, loops, (read,), write, Load(0), REDUCTIONS[function], accumulator_of(x.dtype))
    return operator, Tensor(result, x.shape, x.dtype)


def _cumulated(function: Any, neutral: int, x: Any, axis: Any, exclusive: int, reverse: int) -> Any:
    along = normalize_axis(int(np.asarray(axis).reshape(-1)[0]), x.ndim, "CumSum")
    x = np.flip(x, along) if reverse else x
    if exclusive and x.shape[along]:
        first = np.full_like(np.take(x, [0], axis=along), neutral)
        x = np.concatenate([first, np.take(x, np.arange(x.shape[along] - 1), axis=along)], axis=along)
    total = np.asarray(function(x, axis=along, dtype=x.dtype))
    return np.flip(total, along) if reverse else total


def sum_meaning(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    """The same by NumPy."""
    return _cumulated(np.cumsum, 0, x, axis, exclusive, reverse)


def product_meaning(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    """The same by NumPy."""
    return _cumulated(np.cumprod, 1, x, axis, exclusive, reverse)


def _lowered(function: str, builder: Builder, x: Tensor, axis: Tensor, exclusive: int, reverse: int) -> Tensor:
    along = normalize_axis(int(builder.contents(axis).reshape(-1)[0]), len(x.shape), f"cum{function}")
    extent = x.shape[along]
    if not isinstance(extent, int) or extent > LONGEST:
        raise UnsupportedOperation(f"cum{function} along {extent} elements in generated code", why=f"at most {LONGEST} are")
    return builder.record(cumulate, function, x, along, bool(exclusive), bool(reverse), kind=f"cum{function}")


def sum_lower(builder: Builder, x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    """A reduction behind a guard."""
    return _lowered("sum", builder, x, axis, exclusive, reverse)


def product_lower(builder: Builder, x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    """A reduction behind a guard."""
    return _lowered("prod", builder, x, axis, exclusive, reverse)


define("CumSum", sum_meaning, sum_lower, since=11)
define("CumProd", product_meaning, product_lower, since=26)
