"""Chains of convolutions, written once for all contenders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tilewright_bench.cases.conv import convolved
from tilewright_bench.cases.conv_chain_shapes import ConvChain
from tilewright_bench.cases.conv_shapes import ConvShape

HIGHEST = 6.0
"""Of relu6."""


class Operations(Protocol):
    """One contender's way to write them; all values are its own."""

    def conv(self, shape: ConvShape, x: Any, filters: Any, bias: Any) -> Any:
        """The convolution of x, with a bias for each filter (None: without)."""
        ...

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""
        ...

    def relu6(self, x: Any) -> Any:
        """min(max(x, 0), 6)."""
        ...

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""
        ...


def chain(shape: ConvChain, ops: Operations, image: Any, filters: Sequence[Any], biases: Sequence[Any]) -> Any:
    """The result of an image. `filters` has an entry for each convolution, and so has `biases` where there are any."""
    x = image
    given = biases if shape.biased else (None,) * len(filters)
    for convolution, activation, weight, bias in zip(shape.convolutions, shape.activations, filters, given, strict=True):
        x = ops.conv(convolution, x, weight, bias)
        match activation:
            case "relu":
                x = ops.relu(x)
            case "relu6":
                x = ops.relu6(x)
    return ops.add(x, image) if shape.residual else x


class Float64:
    """The reference."""

    def conv(self, shape: ConvShape, x: Any, filters: Any, bias: Any) -> Any:
        result = convolved(shape, x, filters)
        return result if bias is None else result + bias.reshape(-1, 1, 1)

    def relu(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def relu6(self, x: Any) -> Any:
        return np.clip(x, 0, HIGHEST)

    def add(self, x: Any, y: Any) -> Any:
        return x + y
