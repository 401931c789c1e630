"""Channels with a factor and a summand each, as batch norm by known statistics: maps."""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


def scaled_channels(
    builder: Builder, x: Tensor, scale: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, epsilon: float
) -> Tensor:
    """`(x - mean) / sqrt(var + epsilon) * scale + bias` as `x * factor + summand`, for dimension 1 of x.

    Factor and summand are constants where the statistics are.
    """
    factor = builder.map("reciprocal", builder.map("sqrt", builder.map("add", var, epsilon)))
    factor = factor if scale is None else builder.map("multiply", factor, scale)
    moved = builder.map("multiply", mean, factor)
    summand = builder.map("negative", moved) if bias is None else builder.map("subtract", bias, moved)
    shape = (x.shape[1], *(1,) * (len(x.shape) - 2))
    scaled = builder.map("multiply", x, builder.reshape(factor, shape))
    return builder.map("add", scaled, builder.reshape(summand, shape))
