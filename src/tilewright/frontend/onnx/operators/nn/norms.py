"""Norms: of channels, groups of channels and rows, and their kin.

BatchNormalization: every channel is shifted and scaled, by stored statistics or, in training, by those of the batch.

    y = (x - mean) / sqrt(var + epsilon) * scale + bias

S. Ioffe, C. Szegedy, "Batch Normalization", arXiv:1502.03167 (2015), algorithm 2. That is one factor and one summand per channel,
which are constants if the statistics are. They are rounded as onnxruntime rounds them, since ONNX's reference and its formula
differ from each other and from it in last bits:  x * f + (bias - mean * f),  f = (1 / sqrt(var + epsilon)) * scale.

InstanceNormalization and GroupNormalization: every channel, or group of channels, of every image gets mean 0 and variance 1.

D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization", arXiv:1607.08022 (2016); Y. Wu, K. He, "Group Normalization",
arXiv:1803.08494 (2018). They are layer norms of the pixels laid in a row.

LayerNormalization: rows over the dimensions from `axis` on, to mean 0 and variance 1, then scaled and shifted.

Source: the ONNX operator schema and its reference. Rows are normalized in the wider of their own type and `stash_type`, and in
float32 at least: the schema's function rounds float64 to float32 first, which the reference and onnxruntime do not.

RMSNormalization: rows over the dimensions from `axis` on, divided by the root of their mean square, then scaled.

Source: the ONNX operator schema (types as in LayerNormalization); B. Zhang, R. Sennrich, arXiv:1910.07467 (2019).

LRN, local response normalization, divides by a power of the squares around an element, over neighbouring channels:

    y = x / (bias + alpha / size * sum of x^2 over `size` channels)^beta

A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", NIPS 2012, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_operator
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.nn.sliding import window_of, windows
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known, known
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.channels import scaled_channels
from tilewright.graph.builders.convolutions.windows import Window, window_reduction
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.builders.norms import group_norm, layer_norm, rms_norm
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import normalize_axes, normalize_axis, shape_text
from tilewright.graph.types import Extent, Tensor

MOVED = apply("add", apply("multiply", Load(0), Load(2)), apply("multiply", Load(1), apply("subtract", Literal(1.0), Load(2))))
"""A running mean, of an old value, a new one and the momentum."""


@onnx_operator("BatchNormalization", since=9)
class BatchNormalization:
    """The normalized array; in training also the running mean and variance."""

    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0

    def reference(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
        data, over = x.astype(np.result_type(x.dtype, np.float32)), (0, *range(2, x.ndim))
        used = (data.mean(axis=over), data.var(axis=over)) if self.training_mode else (mean, var)
        y = _scaled_channels(data, scale, bias, *used, self.epsilon).astype(x.dtype)
        if not self.training_mode:
            return y
        moved = [old * self.momentum + new * (1 - self.momentum) for old, new in zip((mean, var), used, strict=True)]
        return y, *(np.asarray(new, old.dtype) for new, old in zip(moved, (mean, var), strict=True))

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Any:
        """One factor and one summand per channel, made by maps, and a map; in training, means over all else come first."""
        check_channels("BatchNormalization", x, scale, bias, mean, var)
        if not self.training_mode:
            return scaled_channels(builder, x, scale, bias, mean, var, self.epsilon)
        if any(operand.dtype != "float32" for operand in (x, mean, var)):
            text = "BatchNormalization in training in another type than float32"
            raise UnsupportedOperation(text, where="BatchNormalization")
        over = (0, *range(2, len(x.shape)))
        centre = builder.reduce("mean", x, over, keepdims=True)
        spread = builder.reduce("mean", builder.map("square", builder.map("subtract", x, centre)), over)
        used = (builder.reshape(centre, mean.shape), spread)
        kept = builder.body(MOVED, mean, used[0], self.momentum), builder.body(MOVED, var, spread, self.momentum)
        return scaled_channels(builder, x, scale, bias, *used, self.epsilon), *kept


@onnx_operator("BatchNormalization")
class BatchNormalizationBefore9(BatchNormalization):
    """Inference, of channels."""

    is_test: int = 1
    spatial: int = 1

    def __post_init__(self) -> None:
        if not self.spatial:
            text = "a batch norm of every element on its own"
            raise UnsupportedOperation(text, where="BatchNormalization", hint="export opset 9")


def _scaled_channels(x: Any, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float) -> Any:
    shape = (1, -1) + (1,) * (x.ndim - 2)
    factor = (1 / np.sqrt(var.astype(x.dtype) + x.dtype.type(epsilon))) * scale.astype(x.dtype)
    summand = bias.astype(x.dtype) - mean.astype(x.dtype) * factor
    return x * factor.reshape(shape) + summand.reshape(shape)


def check_channels(where: str, x: Tensor, *parameters: Tensor) -> None:
    """Raises `ShapeError` unless x has channels and the others one element for each."""
    if len(x.shape) < 2 or any(parameter.shape != (x.shape[1],) for parameter in parameters):
        shapes = ", ".join(shape_text(tensor.shape) for tensor in (x, *parameters))
        raise ShapeError(f"{where} of {shapes}", where=where, why="every channel takes one element")


@onnx_operator("InstanceNormalization")
class InstanceNormalization(Composed):
    """Every channel by itself."""

    epsilon: float = 1e-5

    def composed(self, call: Call, known: Known, x: Any, scale: Any, bias: Any) -> Any:
        return call(GroupNormalization(num_groups=x.shape[1], epsilon=self.epsilon))(x, scale, bias)


@onnx_operator("GroupNormalization", since=21)
class GroupNormalization:
    """Groups of channels, with one scale and bias per channel."""

    epsilon: float = 1e-5
    num_groups: int
    stash_type: int = 1

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        return _grouped(x, scale, bias, self.num_groups, self.epsilon)

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        """One row-wise reduction."""
        check_channels("GroupNormalization", x, scale, bias)
        return _lowered_groups(builder, x, scale, bias, self.num_groups, self.epsilon)


@onnx_operator("GroupNormalization", since=18)
class GroupNormalizationBefore21:
    """Groups of channels, with one scale and bias per group."""

    epsilon: float = 1e-5
    num_groups: int

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        each = x.shape[1] // self.num_groups
        return _grouped(x, np.repeat(scale, each), np.repeat(bias, each), self.num_groups, self.epsilon)


def _grouped(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    data = x.astype(np.result_type(x.dtype, np.float32)).reshape(x.shape[0], groups, -1)
    centred = data - data.mean(axis=2, keepdims=True)
    unit = centred / np.sqrt(np.square(centred).mean(axis=2, keepdims=True) + data.dtype.type(epsilon))
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return np.asarray(unit.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape), x.dtype)


def _lowered_groups(builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, groups: Extent, epsilon: float) -> Tensor:
    (channels,) = known(x.shape[1:2], "a norm over channels")
    if not isinstance(groups, int) or groups < 1 or channels % groups:
        raise ShapeError(f"{groups} groups of the channels of {shape_text(x.shape)}", where="GroupNormalization")
    pixels = tuple(factor for factors in builder.factors(x)[2:] for factor in factors)
    images = builder.reshape(x, (x.shape[0], channels, *pixels))
    return builder.reshape(
        builder.record(group_norm, [images, scale, bias], groups, epsilon, has_bias=True, kind="norm"), x.shape
    )


@onnx_operator("LayerNormalization", since=17)
class LayerNormalization:
    """The normalized array, and if they are asked for the mean and the inverse standard deviation of every row."""

    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1
    output_count: int = 1

    def reference(self, x: Any, scale: Any, bias: Any = None) -> Any:
        stash = element_type(self.stash_type)
        axes = tuple(range(normalize_axis(self.axis, x.ndim, "LayerNormalization"), x.ndim))
        wide = x.astype(computed_in(x.dtype.name, stash.name))
        mean = wide.mean(axis=axes, keepdims=True)
        inverse = 1 / np.sqrt(np.square(wide - mean).mean(axis=axes, keepdims=True) + self.epsilon)
        result = widened(((wide - mean) * inverse).astype(x.dtype)) * widened(scale)
        result = result if bias is None else result + widened(bias)
        return (result.astype(x.dtype), mean.astype(stash), inverse.astype(stash))[: self.output_count]

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
        """One row-wise reduction; mean and deviation, where they are wanted, are reductions of their own."""
        axes = tuple(range(normalize_axis(self.axis, len(x.shape), "LayerNormalization"), len(x.shape)))
        stash = element_type(self.stash_type).name
        result = normalized(builder, layer_norm, x, (scale, bias), axes, self.epsilon, stash)
        if self.output_count == 1:
            return (result,)
        wide = builder.cast(x, computed_in(x.dtype, stash))
        mean = builder.reduce("mean", wide, axes, keepdims=True)
        squares = builder.body(apply("square", apply("subtract", Load(0), Load(1))), wide, mean, kind="squares")
        variance = builder.reduce("mean", squares, axes, keepdims=True)
        inverse = apply("reciprocal", apply("sqrt", apply("add", Load(0), Literal(self.epsilon))))
        deviation = builder.body(inverse, variance, kind="inverse_deviation")
        return (result, builder.cast(mean, stash), builder.cast(deviation, stash))[: self.output_count]


def computed_in(stored: str, stash: str) -> str:
    """The type that rows are normalized in.

    >>> computed_in("float16", "float32"), computed_in("float64", "float32"), computed_in("float32", "bfloat16")
    ('float32', 'float64', 'float32')
    """
    return "float64" if "float64" in (stored, stash) else "float32"


def normalized(
    builder: Builder, norm: Any, x: Tensor, weights: tuple[Tensor | None, ...], axes: tuple[int, ...], epsilon: float, stash: str
) -> Tensor:
    """The norm of x with its weights: inside the reduction if they have the extents of the axes, else by maps behind it."""
    computed = computed_in(x.dtype, stash)
    taken = x if computed == "float32" and x.dtype in ("float16", "bfloat16") else builder.cast(x, computed)
    given = [weight for weight in weights if weight is not None]
    options = {"has_bias": len(weights) > 1 and weights[1] is not None} if norm is layer_norm else {}
    row = tuple(x.shape[d] for d in axes)
    if all(weight.shape == row and weight.dtype == taken.dtype for weight in given):
        return builder.cast(builder.record(norm, [taken, *given], axes, epsilon, kind="norm", **options), x.dtype)
    options = dict.fromkeys(options, False)
    result = builder.cast(builder.record(norm, [taken], axes, epsilon, kind="norm", **options), x.dtype)
    for function, weight in zip(("multiply", "add"), weights, strict=False):
        result = result if weight is None else builder.map(function, result, weight)
    return result


@onnx_operator("RMSNormalization", since=23)
class RMSNormalization:
    """The normalized array, in the type of the scale."""

    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1

    def reference(self, x: Any, scale: Any) -> Any:
        axes = self._axes(x.ndim)
        wide = x.astype(computed_in(x.dtype.name, element_type(self.stash_type).name))
        root = np.sqrt(np.square(wide).mean(axis=axes, keepdims=True) + self.epsilon)
        return (widened((wide / root).astype(x.dtype)) * widened(scale)).astype(scale.dtype)

    def lower(self, builder: Builder, x: Tensor, scale: Tensor) -> Tensor:
        stash = element_type(self.stash_type).name
        result = normalized(builder, rms_norm, x, (scale,), self._axes(len(x.shape)), self.epsilon, stash)
        return builder.cast(result, scale.dtype)

    def _axes(self, rank: int) -> tuple[int, ...]:
        return tuple(range(normalize_axis(self.axis, rank, "RMSNormalization"), rank))


SMALL = 1e-9
"""Added to the deviation (ONNX, MeanVarianceNormalization)."""


@onnx_operator("MeanVarianceNormalization", since=9)
class MeanVarianceNormalization(SchemaAttributes):
    """(x - mean) / (deviation + SMALL)."""

    def reference(self, x: Any) -> Any:
        over = normalize_axes(tuple(self.axes), x.ndim, where="MeanVarianceNormalization")
        data = x.astype(np.result_type(x.dtype, np.float32))
        centred = data - data.mean(axis=over, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=over, keepdims=True))
        return np.asarray(centred / (deviation + data.dtype.type(SMALL)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """Two means and two maps."""
        centred = builder.map("subtract", x, builder.reduce("mean", x, tuple(self.axes), keepdims=True))
        variance = builder.reduce("mean", builder.map("square", centred), tuple(self.axes), keepdims=True)
        deviation = builder.map("add", builder.map("sqrt", variance), SMALL)
        return builder.map("divide", centred, deviation)


@onnx_operator("LpNormalization")
class LpNormalization(SchemaAttributes):
    """x over its p-norm; a row of zeros stays."""

    def reference(self, x: Any) -> Any:
        along = normalize_axis(self.axis, x.ndim, where="LpNormalization")
        data = x.astype(np.result_type(x.dtype, np.float32))
        sizes = np.abs(data) if self.p == 1 else np.square(data)
        norm = sizes.sum(axis=along, keepdims=True)
        norm = norm if self.p == 1 else np.sqrt(norm)
        return np.asarray(np.where(norm == 0, 0, data / np.where(norm == 0, 1, norm)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum, and a map."""
        if self.p not in (1, 2):
            raise UnsupportedOperation(f"LpNormalization with p of {self.p}", where="LpNormalization")
        along = normalize_axis(self.axis, len(x.shape), where="LpNormalization")
        sizes = builder.map("abs" if self.p == 1 else "square", x)
        norm = builder.reduce("sum", sizes, (along,), keepdims=True)
        norm = norm if self.p == 1 else builder.map("sqrt", norm)
        divided = apply("divide", Load(0), Load(1))
        body = apply("where", apply("equal", Load(1), Literal(0.0)), Literal(0.0), divided)
        return builder.body(body, x, norm, kind="lp_norm")


@onnx_operator("LRN")
class LRN:
    """Every element over a power of the squares around it."""

    alpha: float = 0.0001
    beta: float = 0.75
    bias: float = 1.0
    size: int

    def reference(self, x: Any) -> Any:
        data = np.moveaxis(x.astype(np.result_type(x.dtype, np.float32)), 1, -1)
        sums = windows(np.square(data), self._window(x.shape), 0).sum(axis=-1)
        return np.asarray(np.moveaxis(data / (self.bias + self.alpha / self.size * sums) ** self.beta, -1, 1), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum over windows of channels, and a map."""
        squares = builder.map("square", x)
        window = self._window(x.shape)
        sums = builder.record(window_reduction, squares, 1, window, REDUCTIONS["sum"], 0.0, kind="window")
        base = apply("add", apply("multiply", Load(1), Literal(self.alpha / self.size)), Literal(self.bias))
        factor = apply("exp", apply("multiply", apply("log", base), Literal(-self.beta)))
        return builder.body(apply("multiply", Load(0), factor), x, sums, kind="lrn")

    def _window(self, shape: Sequence[Extent]) -> Window:
        if len(shape) < 2 or self.size < 1:
            raise ShapeError(f"LRN of {shape_text(shape)} over {self.size} channels", where="LRN")
        return window_of((shape[1],), (self.size,), where="LRN", pads=((self.size - 1) // 2, self.size // 2))
