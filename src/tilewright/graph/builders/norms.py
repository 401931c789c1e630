"""Softmax and norms: functions of whole rows.

Softmax along any axis, with the rescaling rule by which its online and split schedules correct what they have.

    softmax(x)[i] = exp(x[i] - m) / s,    m = max_j x[j],    s = sum_j exp(x[j] - m)

Online form: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867 (2018), algorithm 3.

Its logarithm is x - m - log(s), which does not overflow.

Layer norm and RMS norm: row-wise reductions that write every point, divided by what the whole row deviates.

    layer_norm(x)[i] = (x[i] - mean) / sqrt(variance + eps) * weight[i] + bias[i]
    mean = sum_j x[j] / n,    variance = sum_j (x[j] - mean)^2 / n
    rms_norm(x)[i] = x[i] / sqrt(sum_j x[j]^2 / n + eps) * weight[i]

J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", arXiv:1607.06450 (2016); B. Zhang, R. Sennrich, "Root Mean Square
Layer Normalization", arXiv:1910.07467 (2019). The variance is taken from squared deviations, which do not cancel as squares do
(T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37 (1983),
section 1): from the mean, in a second pass, or of long rows from the first point, in the same pass, where that lies within four
standard deviations of the mean. In float32 with W lanes, and e = 6e-8 (n / W + log2 W), the absolute error of the mean is at most
e mean(|x|), and the relative error of the variance e plus the square of that error over the variance, of long rows up to 33 times
as much; their effects on results are those, over the standard deviation. Long sums are compensated: their e is 1.2e-7.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import accumulator_of, axes_of, point_count, points
from tilewright.graph.expressions.scalar import Literal, Load, Point, Previous, Scalar, State, apply
from tilewright.graph.shapes import Shape, normalize_axes, normalize_axis, shape_text
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


def _whole_rows(lowest: float, nothing: float, finish: Scalar) -> Reduction:
    """Softmax without rescaling rules, which generated code has in float32 alone; `lowest` is the maximum of nothing."""
    states = (StateVariable("row_max", lowest, Point(), "maximum"), StateVariable("row_sum", nothing, _SHARE, "add"))
    return Reduction(states, finish)


_DOUBLE = np.finfo(np.float64)
_QUOTIENT = apply("divide", _SHARE, State("row_sum"))
_WHOLE_ROWS = {
    False: _whole_rows(float("-inf"), 0.0, _QUOTIENT),
    True: _whole_rows(float(_DOUBLE.min), float(_DOUBLE.tiny), _QUOTIENT),
}
"""Of float64, by whether it is safe."""


def softmax(x: Tensor, axis: int = -1, *, safe: bool = False, name: str, result: str) -> tuple[Operator, Tensor]:
    """`exp(x - max) / sum(exp(x - max))` along `axis`; the shape stays. Raises `ShapeError` if there is no such axis.

    A row of -inf alone gives NaN, or 0 if it is `safe`.

    >>> operator, tensor = softmax(Tensor("x", (2, 5)), name="softmax", result="y")
    >>> [(axis.name, axis.kind.value) for axis in operator.axes], tensor.shape
    ([('d0', 'parallel'), ('d1', 'reduction')], (2, 5))
    """
    along = normalize_axis(axis, len(x.shape), where="softmax")
    rows = _WHOLE_ROWS[safe] if x.dtype == "float64" else SAFE_ROW_SOFTMAX if safe else ROW_SOFTMAX
    return over_rows("softmax", [x], (along,), rows, name, result)


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


def softmax_reference(x: Any, axis: int = -1, *, safe: bool = False) -> Any:
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
    rows = _whole_rows(float("-inf"), 0.0, ROW_LOG_SOFTMAX.finish) if x.dtype == "float64" else ROW_LOG_SOFTMAX
    return over_rows("log_softmax", [x], (along,), rows, name, result)


def layer_norm(
    operands: Sequence[Tensor], axes: int | Sequence[int], eps: float, *, has_bias: bool, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The layer norm of operands[0] over `axes`; then follow a weight and, with `has_bias`, a bias, if there are any.

    They have the extents of the axes, in order. Raises `ShapeError` if they do not.

    >>> x, weight = Tensor("x", (4, 8)), Tensor("w", (8,))
    >>> operator, tensor = layer_norm([x, weight], -1, 1e-5, has_bias=False, name="norm", result="y")
    >>> [state.name for state in operator.reduction.states], tensor.shape, operator.is_row_reduction()
    (['total', 'squares'], (4, 8), True)
    """
    reduction = layer_norm_reduction(_count(operands[0], axes), eps, has_weight=len(operands) - has_bias > 1, has_bias=has_bias)
    return _norm("layer_norm", operands, axes, reduction, name, result)


def group_norm(
    operands: Sequence[Tensor], groups: int, eps: float, *, has_bias: bool, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The layer norm of every group of the channels of operands[0], [images, channels, ...].

    Then follow a weight and, with `has_bias`, a bias, if there are any, with an element for every channel. Raises `ShapeError`
    for other extents, and for channels that are not known or that the groups do not divide.

    >>> x, weight, bias = Tensor("x", (1, 6, 4)), Tensor("w", (6,)), Tensor("b", (6,))
    >>> operator, _ = group_norm([x, weight, bias], 3, 1e-5, has_bias=True, name="norm", result="y")
    >>> [str(index) for index in operator.write.indices], [axis.name for axis in operator.reduction_axes()]
    (['d0', '2*d1 + d2', 'd3'], ['d2', 'd3'])
    """
    x, *parameters = operands
    check_groups(x.shape, [parameter.shape for parameter in parameters], groups)
    images, channels, *pixels = x.shape
    assert isinstance(channels, int)
    width = channels // groups
    row = (width, *pixels)
    image, group, within, *rest = points(2 + len(row))
    channel = group * width + within
    indices = (image, channel, *rest)
    reads = (Access(x.name, indices), *(Access(parameter.name, (channel,)) for parameter in parameters))
    has_weight = len(parameters) - has_bias > 0
    reduction = layer_norm_reduction(point_count(row), eps, has_weight=has_weight, has_bias=has_bias)
    axes = axes_of((images, groups, *row), range(2, 2 + len(row)))
    output = Tensor(result, x.shape, np.result_type(*(operand.dtype for operand in operands)).name)
    return Operator(
        name, "layer_norm", axes, reads, Access(result, indices), Load(0), reduction, accumulator_of(output.dtype)
    ), output


def check_groups(x: Shape, given: Sequence[Shape], groups: Any) -> None:
    """Raises `ShapeError` unless `groups` divides the channels of x, of which each has one element of the others."""
    channels = x[1] if len(x) > 1 else None
    if isinstance(channels, int) and isinstance(groups, int) and groups > 0 and channels % groups == 0:
        if all(shape == (channels,) for shape in given):
            return
        why = "every channel takes one element"
    else:
        why = "dimension 1 has the channels, whose number is known, and is a multiple of that of the groups"
    shapes = ", ".join(map(shape_text, (x, *given)))
    raise ShapeError(f"group_norm of {shapes} in {groups} groups", where="group_norm", why=why)


def group_norm_reference(x: Any, groups: int, eps: float, weight: Any = None, bias: Any = None) -> Any:
    """The same by NumPy."""
    unit = norm_reference(x.reshape(x.shape[0], groups, prod(x.shape[1:]) // groups), (2,), eps).reshape(x.shape)
    column = (-1, *(1,) * (x.ndim - 2))
    value = unit if weight is None else unit * np.reshape(weight, column)
    return value if bias is None else value + np.reshape(bias, column)


def rms_norm(
    operands: Sequence[Tensor], axes: int | Sequence[int], eps: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The RMS norm of operands[0] over `axes`; then follows a weight, if there is one."""
    reduction = rms_norm_reduction(_count(operands[0], axes), eps, has_weight=len(operands) > 1)
    return _norm("rms_norm", operands, axes, reduction, name, result)


def layer_norm_reduction(count: Scalar, eps: float, *, has_weight: bool, has_bias: bool) -> Reduction:
    """What layer norm does with a row of `count` points; the weight is `Load(1)`, and the bias the load behind."""
    deviation = apply("subtract", Point(), apply("divide", State("total"), count))
    states = (StateVariable("total", 0.0, Point(), "add"), StateVariable("squares", 0.0, apply("square", deviation), "add"))
    finish = _scaled(deviation, count, eps, has_weight)
    return Reduction(states, apply("add", finish, Load(1 + has_weight)) if has_bias else finish)


def rms_norm_reduction(count: Scalar, eps: float, *, has_weight: bool) -> Reduction:
    """What RMS norm does with a row of `count` points; the weight is `Load(1)`."""
    states = (StateVariable("squares", 0.0, apply("square", Point()), "add"),)
    return Reduction(states, _scaled(Point(), count, eps, has_weight))


def norm_reference(
    x: Any, axes: tuple[int, ...], eps: float, weight: Any = None, bias: Any = None, *, centred: bool = True
) -> Any:
    """The same by NumPy; `centred` is the layer norm."""
    deviation = x - x.mean(axis=axes, keepdims=True) if centred else x
    value = deviation / np.sqrt(np.square(deviation).mean(axis=axes, keepdims=True) + eps)
    chosen = normalize_axes(axes, x.ndim)
    shape = [extent if dimension in chosen else 1 for dimension, extent in enumerate(x.shape)]
    value = value if weight is None else value * np.reshape(weight, shape)
    return value if bias is None else value + np.reshape(bias, shape)


def _norm(
    kind: str, operands: Sequence[Tensor], along: int | Sequence[int], reduction: Reduction, name: str, result: str
) -> tuple[Operator, Tensor]:
    x, *parameters = operands
    chosen = normalize_axes(along, len(x.shape), where=kind)
    check_extents(kind, x.shape, [parameter.shape for parameter in parameters], chosen)
    return over_rows(kind, operands, chosen, reduction, name, result)


def _scaled(value: Scalar, count: Scalar, eps: float, has_weight: bool) -> Scalar:
    """The value over its root of the mean square, which every row has once."""
    mean_square = apply("divide", State("squares"), count)
    scale = apply("reciprocal", apply("sqrt", apply("add", mean_square, Literal(eps))))
    scaled = apply("multiply", value, scale)
    return apply("multiply", scaled, Load(1)) if has_weight else scaled


def _count(x: Tensor, along: int | Sequence[int]) -> Scalar:
    return point_count([x.shape[dimension] for dimension in normalize_axes(along, len(x.shape), where="norm")])


def check_extents(kind: str, x: Shape, given: Sequence[Shape], axes: Sequence[int]) -> None:
    """Raises `ShapeError` for a weight or bias with other extents than x has along these axes."""
    wanted = tuple(x[dimension] for dimension in axes)
    wrong = next((shape for shape in given if shape != wanted), None)
    if wrong is not None or not wanted:
        shapes = ", ".join(map(shape_text, (x, *given)))
        why = f"a weight or bias has shape {shape_text(wrong)}" if wrong is not None else "there is no axis to go over"
        hint = f"give them the extents of the axes: {shape_text(wanted)}"
        raise ShapeError(f"{kind} of {shapes}", where=kind, why=why, hint=hint)
