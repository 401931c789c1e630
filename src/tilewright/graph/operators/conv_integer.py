"""ConvInteger and QLinearConv: convolutions of integers less their zero points, summed in 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.graph.definition import define
from tilewright.graph.operators.conv import lower as lower_conv
from tilewright.graph.operators.conv import meaning as conv
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(
    x: Any,
    w: Any,
    x_zero: Any = None,
    w_zero: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """The sums, of what the padding leaves out as 0."""
    centred = (_centred(x, x_zero, x.ndim, 1), _centred(w, w_zero, w.ndim, w.shape[0]))
    options = {"kernel_shape": kernel_shape, "pads": pads, "strides": strides}
    return np.asarray(conv(*centred, auto_pad=auto_pad, dilations=dilations, group=group, **options), np.int32)


def quantised_meaning(
    x: Any,
    x_scale: Any,
    x_zero: Any,
    w: Any,
    w_scale: Any,
    w_zero: Any,
    y_scale: Any,
    y_zero: Any,
    b: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """The sums, scaled, rounded to even and saturated to the type of the result's zero point."""
    options = {"kernel_shape": kernel_shape, "pads": pads, "strides": strides}
    sums = meaning(x, w, x_zero, w_zero, auto_pad=auto_pad, dilations=dilations, group=group, **options)
    shape = (-1,) + (1,) * (x.ndim - 2)
    sums = sums if b is None else sums + np.reshape(b, shape)
    scale = np.asarray(x_scale, np.float32) * np.asarray(w_scale, np.float32) / np.asarray(y_scale, np.float32)
    rounded = np.rint(sums * np.reshape(scale, shape if scale.size > 1 else (1,))) + np.asarray(y_zero, np.int32)
    limits = np.iinfo(y_zero.dtype)
    return np.asarray(np.clip(rounded, limits.min, limits.max), y_zero.dtype)


def _centred(x: Any, zero: Any, rank: int, channels: int) -> Any:
    if zero is None:
        return x.astype(np.int32)
    shape = (channels,) + (1,) * (rank - 1) if np.size(zero) > 1 else (1,) * rank
    return x.astype(np.int32) - np.reshape(zero.astype(np.int32), shape)


def lower(
    builder: Builder,
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """A convolution in 32 bits, computed exactly."""
    return lower_conv(
        builder,
        _lowered(builder, x, x_zero),
        _lowered(builder, w, w_zero),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )


def _lowered(builder: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    whole = builder.cast(x, "int32")
    if zero is None:
        return whole
    extents = (zero.shape[0],) if zero.shape and zero.shape[0] != 1 else (1,)
    column = builder.reshape(builder.cast(zero, "int32"), (*extents, *(1,) * (len(x.shape) - 1)))
    return builder.map("subtract", whole, column)


define("ConvInteger", meaning, lower)
define("QLinearConv", quantised_meaning)
