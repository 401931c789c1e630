"""The logarithm of softmax, as one row-wise reduction: x - m - log(sum_j exp(x[j] - m)), m = max_j x[j], which does not
overflow."""

from __future__ import annotations

from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.softmax import ROW_SOFTMAX
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load, Point, State, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Reduction, Tensor

ROW_LOG_SOFTMAX = Reduction(
    states=ROW_SOFTMAX.states,
    finish=apply("subtract", apply("subtract", Point(), State("row_max")), apply("log", State("row_sum"))),
)
"""The states of softmax. Finished values would change by a summand when these do, not by a factor: no rescaling rule for them."""


def log_softmax(x: Tensor, axis: int = -1, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The logarithm of the softmax along `axis`; the shape stays. Raises `ShapeError` if there is no such axis.

    >>> log_softmax(Tensor("x", (2, 5)), name="log_softmax", result="y")[1].shape
    (2, 5)
    """
    along = normalize_axis(axis, len(x.shape), where="log_softmax")
    axes = tuple(
        Axis(f"d{position}", extent, AxisKind.REDUCTION if position == along else AxisKind.PARALLEL)
        for position, extent in enumerate(x.shape)
    )
    indices = tuple(axis_index(a.name) for a in axes)
    operator = Operator(
        name,
        "log_softmax",
        axes,
        (Access(x.name, indices),),
        Access(result, indices),
        Load(0),
        ROW_LOG_SOFTMAX,
        accumulator_of(x.dtype),
    )
    return operator, Tensor(result, x.shape, x.dtype)
