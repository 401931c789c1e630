"""BatchNormalization: every channel is shifted and scaled, by stored statistics or, in training, by those of the batch.

    y = (x - mean) / sqrt(var + epsilon) * scale + bias

S. Ioffe, C. Szegedy, "Batch Normalization", arXiv:1502.03167 (2015), algorithm 2. That is one factor and one summand per channel,
which are constants if the statistics are. They are rounded as onnxruntime rounds them, since ONNX's reference and its formula
differ from each other and from it in last bits:  x * f + (bias - mean * f),  f = (1 / sqrt(var + epsilon)) * scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

MOVED = apply("add", apply("multiply", Load(0), Load(2)), apply("multiply", Load(1), apply("subtract", Literal(1.0), Load(2))))
"""A running mean, of an old value, a new one and the momentum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNormalization:
    """The normalized array; in training also the running mean and variance."""

    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0

    def reference(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
        data, over = x.astype(np.result_type(x.dtype, np.float32)), (0, *range(2, x.ndim))
        used = (data.mean(axis=over), data.var(axis=over)) if self.training_mode else (mean, var)
        y = _normalized(data, scale, bias, *used, self.epsilon).astype(x.dtype)
        if not self.training_mode:
            return y
        moved = [old * self.momentum + new * (1 - self.momentum) for old, new in zip((mean, var), used, strict=True)]
        return y, *(np.asarray(new, old.dtype) for new, old in zip(moved, (mean, var), strict=True))

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Any:
        """One factor and one summand per channel, made by maps, and a map; in training, means over all else come first."""
        check_channels("BatchNormalization", x, scale, bias, mean, var)
        if not self.training_mode:
            return _lowered(builder, x, scale, bias, mean, var, self.epsilon)
        if any(operand.dtype != "float32" for operand in (x, mean, var)):
            text = "BatchNormalization in training in another type than float32"
            raise UnsupportedOperation(text, where="BatchNormalization")
        over = (0, *range(2, len(x.shape)))
        centre = builder.reduce("mean", x, over, keepdims=True)
        spread = builder.reduce("mean", builder.map("square", builder.map("subtract", x, centre)), over)
        used = (builder.reshape(centre, mean.shape), spread)
        kept = builder.body(MOVED, mean, used[0], self.momentum), builder.body(MOVED, var, spread, self.momentum)
        return _lowered(builder, x, scale, bias, *used, self.epsilon), *kept


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNormalizationBefore9(BatchNormalization):
    """Inference, of channels."""

    is_test: int = 1
    spatial: int = 1

    def __post_init__(self) -> None:
        if not self.spatial:
            text = "a batch norm of every element on its own"
            raise UnsupportedOperation(text, where="BatchNormalization", hint="export opset 9")


def _normalized(x: Any, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float) -> Any:
    shape = (1, -1) + (1,) * (x.ndim - 2)
    factor = (1 / np.sqrt(var.astype(x.dtype) + x.dtype.type(epsilon))) * scale.astype(x.dtype)
    summand = bias.astype(x.dtype) - mean.astype(x.dtype) * factor
    return x * factor.reshape(shape) + summand.reshape(shape)


def _lowered(builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, epsilon: float) -> Tensor:
    factor = builder.map("multiply", builder.map("reciprocal", builder.map("sqrt", builder.map("add", var, epsilon))), scale)
    summand = builder.map("subtract", bias, builder.map("multiply", mean, factor))
    shape = (x.shape[1], *(1,) * (len(x.shape) - 2))
    scaled = builder.map("multiply", x, builder.reshape(factor, shape))
    return builder.map("add", scaled, builder.reshape(summand, shape))


def check_channels(where: str, x: Tensor, *parameters: Tensor) -> None:
    """Raises `ShapeError` unless x has channels and the others one element for each."""
    if len(x.shape) < 2 or any(parameter.shape != (x.shape[1],) for parameter in parameters):
        shapes = ", ".join(shape_text(tensor.shape) for tensor in (x, *parameters))
        raise ShapeError(f"{where} of {shapes}", where=where, why="every channel takes one element")


define("BatchNormalization", BatchNormalizationBefore9)
define("BatchNormalization", BatchNormalization, since=9)
