"""InstanceNormalization and GroupNormalization: every channel, or group of channels, of every image gets mean 0 and variance 1.

D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization", arXiv:1607.08022 (2016); Y. Wu, K. He, "Group Normalization",
arXiv:1803.08494 (2018). They are layer norms of the pixels laid in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.batch_norm import check_channels
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.norms import layer_norm
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, SymbolicExtent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceNormalization:
    """Every channel by itself."""

    epsilon: float = 1e-5

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        return _normalized(x, scale, bias, x.shape[1], self.epsilon)

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        """A layer norm, and a map."""
        check_channels("InstanceNormalization", x, scale, bias)
        return _lowered(builder, x, scale, bias, x.shape[1], self.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNormalization:
    """Groups of channels, with one scale and bias per channel."""

    epsilon: float = 1e-5
    num_groups: int
    stash_type: int = 1

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        return _normalized(x, scale, bias, self.num_groups, self.epsilon)

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        """A layer norm, and a map."""
        check_channels("GroupNormalization", x, scale, bias)
        return _lowered(builder, x, scale, bias, self.num_groups, self.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNormalizationBefore21:
    """Groups of channels, with one scale and bias per group."""

    epsilon: float = 1e-5
    num_groups: int

    def reference(self, x: Any, scale: Any, bias: Any) -> Any:
        each = x.shape[1] // self.num_groups
        return _normalized(x, np.repeat(scale, each), np.repeat(bias, each), self.num_groups, self.epsilon)


def _normalized(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    data = x.astype(np.result_type(x.dtype, np.float32)).reshape(x.shape[0], groups, -1)
    centred = data - data.mean(axis=2, keepdims=True)
    unit = centred / np.sqrt(np.square(centred).mean(axis=2, keepdims=True) + data.dtype.type(epsilon))
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return np.asarray(unit.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape), x.dtype)


def _lowered(builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, groups: Extent, epsilon: float) -> Tensor:
    channels, *spatial = x.shape[1:]
    if any(isinstance(extent, SymbolicExtent) for extent in (channels, *spatial)):
        raise UnsupportedOperation("a norm over extents that are known at run time only", where="InstanceNormalization")
    if not isinstance(channels, int) or not isinstance(groups, int) or groups < 1 or channels % groups:
        raise ShapeError(f"{groups} groups of the channels of {shape_text(x.shape)}", where="GroupNormalization")
    pixels = prod(extent for extent in spatial if isinstance(extent, int))
    rows = builder.reshape(x, (x.shape[0], groups, channels // groups * pixels))
    unit = builder.record(layer_norm, [rows], -1, epsilon, has_bias=False, kind="norm")
    shape = (channels, *(1,) * len(spatial))
    scaled = builder.map("multiply", builder.reshape(unit, x.shape), builder.reshape(scale, shape))
    return builder.map("add", scaled, builder.reshape(bias, shape))


define("InstanceNormalization", InstanceNormalization)
define("GroupNormalization", GroupNormalizationBefore21, since=18)
define("GroupNormalization", GroupNormalization, since=21)
