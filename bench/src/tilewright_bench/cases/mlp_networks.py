"""Networks of linear layers, written once for all contenders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tilewright_bench.cases.mlp_shapes import MlpShape

EPSILON = 1e-5
"""Added to the variance in a layer norm."""


class Operations(Protocol):
    """One contender's way to write them; all values are its own."""

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        """x weight + bias (None: without)."""
        ...

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""
        ...

    def gelu(self, x: Any) -> Any:
        """x (1 + erf(x / sqrt(2))) / 2."""
        ...

    def silu(self, x: Any) -> Any:
        """x / (1 + exp(-x))."""
        ...

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""
        ...

    def multiply(self, x: Any, y: Any) -> Any:
        """x * y."""
        ...

    def layer_norm(self, x: Any) -> Any:
        """(x - mean) / sqrt(variance + EPSILON) of each row."""
        ...


def network(shape: MlpShape, ops: Operations, x: Any, weights: Sequence[Any], biases: Sequence[Any]) -> Any:
    """The result of the rows x. `biases` has one entry for each of the weights."""
    match shape.network:
        case "relu":
            for weight, bias in zip(weights, biases, strict=True):
                x = ops.relu(ops.linear(x, weight, bias))
            return x
        case "low_rank":
            return ops.linear(ops.linear(x, weights[0], None), weights[1], None)
        case "gelu":
            return _feed_forward(ops, x, weights, biases)
        case "gated":
            gate, up, down = weights
            return ops.linear(ops.multiply(ops.silu(ops.linear(x, gate, None)), ops.linear(x, up, None)), down, None)
        case "lora":
            whole, narrow, wide = weights
            return ops.add(ops.linear(x, whole, None), ops.linear(ops.linear(x, narrow, None), wide, None))
        case "residual":
            return ops.layer_norm(ops.add(x, _feed_forward(ops, x, weights, biases)))


def _feed_forward(ops: Operations, x: Any, weights: Sequence[Any], biases: Sequence[Any]) -> Any:
    return ops.linear(ops.gelu(ops.linear(x, weights[0], biases[0])), weights[1], biases[1])


class Float64:
    """The reference."""

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        product = x @ weight.astype(np.float64)
        return product if bias is None else product + bias

    def relu(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def gelu(self, x: Any) -> Any:
        return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2

    def silu(self, x: Any) -> Any:
        return x / (1 + np.exp(-x))

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        return x * y

    def layer_norm(self, x: Any) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
