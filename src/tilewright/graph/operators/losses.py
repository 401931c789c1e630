"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: minus the (log-)probability of the right class, weighted.

    loss[n, d...] = -x[n, target[n, d...], d...] * weight[target[n, d...]]
    mean: sum of losses / sum of their weights;    sum: sum of losses;    none: as it is

Targets that are `ignore_index` have weight 0, whatever they are; others are classes of x. Source: the ONNX operator schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.numpy_types import widened
from tilewright.graph.operators import log_softmax
from tilewright.graph.operators.gathering import gather, gather_elements
from tilewright.graph.positions import check_positions
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

REDUCTIONS = ("none", "mean", "sum")


def likelihood_loss(x: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None, reduction: str = "mean") -> Any:
    """Minus the element of x that the target names, times the weight of its class. Raises `ShapeError` for no classes."""
    _check(x.shape, target.shape, reduction)
    counted = np.ones(target.shape, bool) if ignore_index is None else target != ignore_index
    classes = np.where(counted, target, 0)
    check_positions(classes, x.shape[1], "NegativeLogLikelihoodLoss")
    wide = widened(x)
    chosen = np.take_along_axis(wide, np.expand_dims(classes, 1), axis=1).squeeze(1)
    weights = counted.astype(wide.dtype) if weight is None else np.where(counted, widened(weight)[classes], 0)
    with np.errstate(all="ignore"):
        loss = np.where(counted, -chosen * weights, 0)
        if reduction != "none":
            loss = loss.sum() / (weights.sum() if reduction == "mean" else 1)
    return np.asarray(loss).astype(x.dtype)


def cross_entropy_loss(
    scores: Any,
    labels: Any,
    weights: Any = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
    output_count: int = 1,
) -> Any:
    """The loss of the logarithm of the softmax along dimension 1, and that logarithm."""
    logarithm = log_softmax.meaning(widened(scores), axis=1)
    loss = likelihood_loss(logarithm, labels, weights, ignore_index=ignore_index, reduction=reduction)
    return (loss.astype(scores.dtype), logarithm.astype(scores.dtype))[:output_count]


def lower_likelihood_loss(
    builder: Builder,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Gathers of the chosen elements and of their weights, a map, and for a scalar sums of the losses and of the weights."""
    _check(x.shape, target.shape, reduction)
    if any(one is not None and one.dtype != x.dtype for one in (x, weight)):
        raise UnsupportedOperation("a loss of several element types")
    counted: Scalar | None = None
    classes = target
    if ignore_index is not None:
        counted = apply("not_equal", Load(0), Literal(float(ignore_index)))
        classes = builder.body(apply("where", counted, Load(0), Literal(0.0)), target, dtype=target.dtype, kind="classes")
    column = builder.reshape(classes, (target.shape[0], 1, *target.shape[1:]))
    chosen = builder.reshape(builder.record(gather_elements, x, column, 1, kind="chosen"), target.shape)
    weights = () if weight is None else (builder.record(gather, weight, classes, 0, kind="weights"),)
    share: Scalar = Load(2) if weights else Literal(1.0)
    lost = apply("multiply", apply("negative", Load(1)), share)
    loss = builder.body(_where(counted, lost), target, chosen, *weights, dtype=x.dtype, kind="loss")
    if reduction == "none":
        return loss
    total = builder.reduce("sum", loss)
    if reduction == "sum":
        return total
    shares = builder.body(_where(counted, share), target, chosen, *weights, dtype=x.dtype, kind="shares")
    return builder.map("divide", total, builder.reduce("sum", shares))


def _where(counted: Scalar | None, value: Scalar) -> Scalar:
    return value if counted is None else apply("where", counted, value, Literal(0.0))


def lower_cross_entropy_loss(
    builder: Builder,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
    output_count: int = 1,
) -> tuple[Tensor, ...]:
    """The logarithm of the softmax, and the loss of that."""
    logarithm = log_softmax.lower(builder, scores, axis=1)
    loss = lower_likelihood_loss(builder, logarithm, labels, weights, ignore_index=ignore_index, reduction=reduction)
    return (loss, logarithm)[:output_count]


def _check(x: Shape, target: Shape, reduction: str) -> None:
    """Raises `ShapeError` and `UnsupportedOperation` for what has no loss."""
    if len(x) < 2 or (*x[:1], *x[2:]) != tuple(target):
        raise ShapeError(f"a loss of {shape_text(x)} with targets {shape_text(target)}", why="targets lack dimension 1")
    if reduction not in REDUCTIONS:
        raise UnsupportedOperation(f"a loss with reduction={reduction!r}", hint=f"choose from {', '.join(REDUCTIONS)}")


define("NegativeLogLikelihoodLoss", likelihood_loss, lower_likelihood_loss, since=12)
define("SoftmaxCrossEntropyLoss", cross_entropy_loss, lower_cross_entropy_loss, since=12)
