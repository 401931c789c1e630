"""Softmax along any axis, with the rescaling rule by which its online and split schedules correct what they have.

    softmax(x)[i] = exp(x[i] - m) / s,    m = max_j x[j],    s = sum_j exp(x[j] - m)

Online form: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867 (2018), algorithm 3.

Its logarithm is x - m - log(s), which does not overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.graph.builders.elementwise import accumulator_of, axes_of, points
from tilewright.graph.scalar import Load, Point, Previous, State, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Operator, Reduction, Rescale, StateVariable, Tensor

LOWEST = float(np.finfo(np.float32).min)
"""The maximum of nothing. It is finite, so that rows and blocks of -inf never meet `-inf - -inf`: their sum is 0."""

LEAST = float(np.finfo(np.float32).tiny)

_SHRINK = apply("exp", apply("subtract", Previous("row_max"), State("row_max")))
_SHARE = apply("exp", apply("subtract", Point(), State("row_max")))


def _row_softmax(nothing: float) -> Reduction:
    """The softmax of rows whose sums start at `nothing`."""
    return Reduction(
        states=(StateVariable("row_max", LOWEST, Point(), "maximum"), StateVariable("row_sum", nothing, _SHARE, "add")),
        finish=apply("divide", _SHARE, State("row_sum")),
        rescales=(
            Rescale("row_sum", _SHRINK),
            Rescale("result", apply("divide", apply("multiply", _SHRINK, Previous("row_sum")), State("row_sum"))),
        ),
    )


ROW_SOFTMAX = _row_softmax(0.0)
"""States: maximum, then sum of exponentials. A larger maximum shrinks the sum by exp(old - new); finished values shrink by
that and by the ratio of the sums, so a schedule may accumulate undivided exponentials and divide once at the end.
A row of -inf alone gives 0/0 = NaN, as NumPy's formula does."""

SAFE_ROW_SOFTMAX = _row_softmax(LEAST)
"""The same, but a row of -inf alone gives 0, since its sum is not 0. All other sums are at least 1, the share of the maximum, or
NaN: that they start at the least normal number, once or once a lane and part, is lost in their rounding."""


def softmax(x: Tensor, axis: int = -1, *, safe: bool = False, name: str, result: str) -> tuple[Operator, Tensor]:
    """`exp(x - max) / sum(exp(x - max))` along `axis`; the shape stays. Raises `ShapeError` if there is no such axis.

    A row of -inf alone gives NaN, or 0 if it is `safe`.

    >>> operator, tensor = softmax(Tensor("x", (2, 5)), name="softmax", result="y")
    >>> [(axis.name, axis.kind.value) for axis in operator.axes], tensor.shape
    ([('d0', 'parallel'), ('d1', 'reduction')], (2, 5))
    """
    along = normalize_axis(axis, len(x.shape), where="softmax")
    return over_rows("softmax", [x], (along,), SAFE_ROW_SOFTMAX if safe else ROW_SOFTMAX, name, result)


def over_rows(
    kind: str, operands: Sequence[Tensor], axes: Sequence[int], reduction: Reduction, name: str, result: str
) -> tuple[Operator, Tensor]:
    """A reduction of operands[0] along these dimensions that writes every point; the other operands have their extents."""
    x, *parameters = operands
    indices = points(len(x.shape))
    reads = (Access(x.name, indices), *(Access(parameter.name, tuple(indices[d] for d in axes)) for parameter in parameters))
    output = Tensor(result, x.shape, np.result_type(*(operand.dtype for operand in operands)).name)
    write, accumulator = Access(result, indices), accumulator_of(output.dtype)
    return Operator(name, kind, axes_of(x.shape, axes), reads, write, Load(0), reduction, accumulator), output


def numpy_reference(x: Any, axis: int = -1, *, safe: bool = False) -> Any:
    """The same by NumPy, in the precision of `x`."""
    with np.errstate(invalid="ignore"):
        powers = np.exp(x - np.maximum(x.max(axis=axis, keepdims=True, initial=-np.inf), LOWEST))
        return powers / powers.sum(axis=axis, keepdims=True, initial=LEAST if safe else 0.0)


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
