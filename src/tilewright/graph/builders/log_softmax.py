"""The logarithm of softmax, as one row-wise reduction: x - m - log(sum_j exp(x[j] - m)), m = max_j x[j], which does not
overflow."""

from __future__ import annotations

from tilewright.graph.builders.softmax import ROW_SOFTMAX, over_rows
from tilewright.graph.scalar import Point, State, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Operator, Reduction, Tensor

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
    return over_rows("log_softmax", [x], (along,), ROW_LOG_SOFTMAX, name, result)
