"""The logarithm of softmax, as one row operator: x - m - log(sum_j exp(x[j] - m)), m = max_j x[j], which does not overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.graph.definition import define
from tilewright.graph.index import axis as axis_index
from tilewright.graph.numpy_types import in_operand_type
from tilewright.graph.operators.elementwise import accumulator_of
from tilewright.graph.operators.flattened import over_rows
from tilewright.graph.operators.softmax import ROW_SOFTMAX
from tilewright.graph.scalar import Load, Point, State, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Reduction, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

ROW_LOG_SOFTMAX = Reduction(
    states=ROW_SOFTMAX.states,
    finish=apply("subtract", apply("subtract", Point(), State("row_max")), apply("log", State("row_sum"))),
)
"""The states of softmax. Finished values would change by a summand when these do, and not by a factor: no law for them."""


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


def meaning(x: Any, *, axis: int = -1) -> Any:
    """The logarithm of the softmax along an axis."""
    if not x.size:
        return x
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def lower(builder: Builder, x: Tensor, *, axis: int = -1) -> Tensor:
    """One row operator."""
    return builder.record(log_softmax, x, axis, kind="log_softmax")


flattened_meaning, lower_flattened = over_rows(meaning, lower)
define("LogSoftmax", in_operand_type(flattened_meaning), lower_flattened)
define("LogSoftmax", in_operand_type(meaning), lower, since=13)
