"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: minus the (log-)probability of the right class, weighted.

    loss[n, d...] = -x[n, target[n, d...], d...] * weight[target[n, d...]]
    mean: sum of losses / sum of their weights;    sum: sum of losses;    none: as it is

Targets that are `ignore_index` have weight 0, whatever they are; others are classes of x. Source: the ONNX operator schemas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_operator
from tilewright.frontend.onnx.operators.activation.activations import LogSoftmax
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather, gather_elements
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.numpy_types import widened
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Tensor

REDUCTIONS = ("none", "mean", "sum")


@onnx_operator("NegativeLogLikelihoodLoss", since=12)
class NegativeLogLikelihoodLoss(SchemaAttributes):
    """Minus the element of x that the target names, times the weight of its class."""

    def reference(self, x: Any, target: Any, weight: Any = None) -> Any:
        self._check(x.shape, target.shape)
        counted = np.ones(target.shape, bool) if self.ignore_index is None else target != self.ignore_index
        classes = np.where(counted, target, 0)
        check_positions(classes, x.shape[1], "NegativeLogLikelihoodLoss")
        wide = widened(x)
        chosen = np.take_along_axis(wide, np.expand_dims(classes, 1), axis=1).squeeze(1)
        weights = counted.astype(wide.dtype) if weight is None else np.where(counted, widened(weight)[classes], 0)
        with np.errstate(all="ignore"):
            loss = np.where(counted, -chosen * weights, 0)
            if self.reduction != "none":
                loss = loss.sum() / (weights.sum() if self.reduction == "mean" else 1)
        return np.asarray(loss).astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        """Gathers of the chosen elements and of their weights, a map, and for a scalar sums of the losses and of the weights."""
        self._check(x.shape, target.shape)
        if any(operand is not None and operand.dtype != x.dtype for operand in (x, weight)):
            raise UnsupportedOperation("a loss of several element types")
        counted: Scalar | None = None
        classes = target
        if self.ignore_index is not None:
            counted = apply("not_equal", Load(0), Literal(float(self.ignore_index)))
            classes = builder.body(apply("where", counted, Load(0), Literal(0.0)), target, dtype=target.dtype, kind="classes")
        column = builder.reshape(classes, (target.shape[0], 1, *target.shape[1:]))
        chosen = builder.reshape(builder.record(gather_elements, x, column, 1, kind="chosen"), target.shape)
        weights = () if weight is None else (builder.record(gather, weight, classes, 0, kind="weights"),)
        share: Scalar = Load(2) if weights else Literal(1.0)
        lost = apply("multiply", apply("negative", Load(1)), share)
        loss = builder.body(_where(counted, lost), target, chosen, *weights, dtype=x.dtype, kind="loss")
        if self.reduction == "none":
            return loss
        total = builder.reduce("sum", loss)
        if self.reduction == "sum":
            return total
        shares = builder.body(_where(counted, share), target, chosen, *weights, dtype=x.dtype, kind="shares")
        return builder.map("divide", total, builder.reduce("sum", shares))

    def _check(self, x: Shape, target: Shape) -> None:
        """Raises `ShapeError` and `UnsupportedOperation` for what has no loss."""
        if len(x) < 2 or (*x[:1], *x[2:]) != tuple(target):
            raise ShapeError(f"a loss of {shape_text(x)} with targets {shape_text(target)}", why="targets lack dimension 1")
        if self.reduction not in REDUCTIONS:
            raise UnsupportedOperation(f"a loss with reduction={self.reduction!r}", hint=f"choose from {', '.join(REDUCTIONS)}")


@onnx_operator("SoftmaxCrossEntropyLoss", since=12)
class SoftmaxCrossEntropyLoss(SchemaAttributes):
    """The loss of the logarithm of the softmax along dimension 1, and that logarithm."""

    def reference(self, scores: Any, labels: Any, weights: Any = None) -> Any:
        logarithm = LogSoftmax(axis=1).reference(widened(scores))
        loss = self._loss().reference(logarithm, labels, weights)
        return (loss.astype(scores.dtype), logarithm.astype(scores.dtype))[: self.output_count]

    def lower(self, builder: Builder, scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> tuple[Tensor, ...]:
        logarithm = LogSoftmax(axis=1).lower(builder, scores)
        loss = self._loss().lower(builder, logarithm, labels, weights)
        return (loss, logarithm)[: self.output_count]

    def _loss(self) -> NegativeLogLikelihoodLoss:
        return NegativeLogLikelihoodLoss(ignore_index=self.ignore_index, reduction=self.reduction)


def _where(counted: Scalar | None, value: Scalar) -> Scalar:
    return value if counted is None else apply("where", counted, value, Literal(0.0))
