"""Layer norm and RMS norm: row-wise reductions that write every point, divided by what the whole row deviates.

    layer_norm(x)[i] = (x[i] - mean) / sqrt(variance + eps) * weight[i] + bias[i]
    mean = sum_j x[j] / n,    variance = sum_j (x[j] - mean)^2 / n
    rms_norm(x)[i] = x[i] / sqrt(sum_j x[j]^2 / n + eps) * weight[i]

J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", arXiv:1607.06450 (2016); B. Zhang, R. Sennrich, "Root Mean Square
Layer Normalization", arXiv:1910.07467 (2019). The variance is taken in a second pass over the row, from the mean of the first:
sums of squared deviations do not cancel as sums of squares do (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for Computing
the Sample Variance", The American Statistician 37 (1983), section 1). In float32 with W lanes, and e = 6e-8 (n / W + log2 W), the
absolute error of the mean is at most e mean(|x|), and the relative error of the variance e plus the square of that error over the
variance; their effects on results are those, over the standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.reduce import point_count
from tilewright.graph.builders.softmax import over_rows
from tilewright.graph.scalar import Literal, Load, Point, Scalar, State, apply
from tilewright.graph.shapes import Shape, normalize_axes, shape_text
from tilewright.graph.types import Operator, Reduction, StateVariable, Tensor


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


def numpy_reference(
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
