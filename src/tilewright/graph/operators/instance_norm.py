"""InstanceNormalization and GroupNormalization: every channel, or group of channels, of every image gets mean 0 and variance 1.

D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance Normalization", arXiv:1607.08022 (2016); Y. Wu, K. He, "Group Normalization",
arXiv:1803.08494 (2018). They are layer norms of the pixels laid in a row.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.operators.batch_norm import check_channels
from tilewright.graph.operators.norm import layer_norm
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import SymbolicExtent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    """The same by NumPy."""
    return _meaning(x, scale, bias, x.shape[1], epsilon)


def lower(builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    """A layer norm, and a map."""
    check_channels("InstanceNormalization", x, scale, bias)
    return _lower(builder, x, scale, bias, x.shape[1], epsilon)


def group_meaning(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, num_groups: int = 1, stash_type: int = 1) -> Any:
    """The same by NumPy, for groups of channels."""
    return _meaning(x, scale, bias, num_groups, epsilon)


def group_lower(
    builder: Builder,
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    epsilon: float = 1e-5,
    num_groups: int = 1,
    stash_type: int = 1,
) -> Tensor:
    """A layer norm, and a map."""
    check_channels("GroupNormalization", x, scale, bias)
    return _lower(builder, x, scale, bias, num_groups, epsilon)


def by_group_meaning(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, num_groups: int = 1) -> Any:
    """The same by NumPy, with one scale and bias per group."""
    each = x.shape[1] // num_groups
    return _meaning(x, np.repeat(scale, each), np.repeat(bias, each), num_groups, epsilon)


def _meaning(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    data = x.astype(np.result_type(x.dtype, np.float32)).reshape(x.shape[0], groups, -1)
    centred = data - data.mean(axis=2, keepdims=True)
    unit = centred / np.sqrt(np.square(centred).mean(axis=2, keepdims=True) + data.dtype.type(epsilon))
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return np.asarray(unit.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape), x.dtype)


def _lower(builder: Builder, x: Tensor, scale: Tensor, bias: Tensor, groups: Any, epsilon: float) -> Tensor:
    channels, *spatial = x.shape[1:]
    if any(isinstance(extent, SymbolicExtent) for extent in (channels, *spatial)):
        raise UnsupportedOperation("a norm over extents that are known at run time only", where="InstanceNormalization")
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise ShapeError(f"{groups} groups of the channels of {shape_text(x.shape)}", where="GroupNormalization")
    pixels = prod(extent for extent in spatial if isinstance(extent, int))
    rows = builder.reshape(x, (x.shape[0], groups, channels // groups * pixels))
    unit = builder.record(layer_norm, [rows], -1, epsilon, has_bias=False, kind="norm")
    shape = (channels, *(1,) * len(spatial))
    scaled = builder.map("multiply", builder.reshape(unit, x.shape), builder.reshape(scale, shape))
    return builder.map("add", scaled, builder.reshape(bias, shape))


define("InstanceNormalization", meaning, lower)
define("GroupNormalization", by_group_meaning, since=18)
define("GroupNormalization", group_meaning, group_lower, since=21)
