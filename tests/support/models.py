"""Whole models with random weights, as functions over constants: as one writes them, and in the small steps of exporters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw

Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Transformer:
    """The sizes of an encoder."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    hidden: int = 3072
    rows: int = 128

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Of one sequence."""
        return (1, self.rows, self.width)


SMALL = Transformer(layers=2, width=24, heads=3, hidden=40, rows=10)
BERT_BASE = Transformer()
VIT_B_16 = Transformer(rows=197)

Layer = dict[str, Floats]


def weights(model: Transformer, seed: int = 0) -> list[Layer]:
    """Of every layer, scaled so that rows keep their size."""
    random = np.random.default_rng(seed)
    width, hidden = model.width, model.hidden
    shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width)}
    shapes |= {"up": (width, hidden), "down": (hidden, width)}

    def drawn(*shape: int, scale: float = 0.1) -> Floats:
        return random.standard_normal(shape, np.float32) * np.float32(scale)

    def layer() -> Layer:
        own = {name: drawn(*shape, scale=shape[0] ** -0.5) for name, shape in shapes.items()}
        own |= {f"{name}_bias": drawn(shape[1]) for name, shape in shapes.items()}
        return (
            own
            | {name: 1 + drawn(width) for name in ("gain_1", "gain_2")}
            | {name: drawn(width) for name in ("shift_1", "shift_2")}
        )

    return [layer() for _ in range(model.layers)]


def encoder(model: Transformer, layers: list[Layer], *, is_pre_norm: bool = False) -> Callable[[Any, Any], Any]:
    """BERT's encoder (norms behind residuals) or ViT's (before), of x[1, rows, width] and an additive mask[1, 1, 1, rows]."""

    def norm(x: Any, gain: Any, shift: Any) -> Any:
        return tw.layer_norm(x, (model.width,), gain, shift, 1e-12)

    def heads(x: Any) -> Any:
        return x.reshape(1, model.rows, model.heads, -1).transpose(0, 2, 1, 3)

    def attended(x: Any, w: Layer, mask: Any) -> Any:
        q, k, v = (heads(x @ w[one] + w[f"{one}_bias"]) for one in "qkv")
        shares = tw.softmax(q @ k.mT / math.sqrt(model.width // model.heads) + mask)
        return (shares @ v).transpose(0, 2, 1, 3).reshape(1, model.rows, model.width) @ w["o"] + w["o_bias"]

    def fed(x: Any, w: Layer) -> Any:
        return tw.gelu(x @ w["up"] + w["up_bias"]) @ w["down"] + w["down_bias"]

    def whole(x: Any, mask: Any) -> Any:
        for w in layers:
            if is_pre_norm:
                x = x + attended(norm(x, w["gain_1"], w["shift_1"]), w, mask)
                x = x + fed(norm(x, w["gain_2"], w["shift_2"]), w)
            else:
                x = norm(x + attended(x, w, mask), w["gain_1"], w["shift_1"])
                x = norm(x + fed(x, w), w["gain_2"], w["shift_2"])
        return x

    return whole


def exported_encoder(model: Transformer, layers: list[Layer]) -> Callable[[Any, Any], Any]:
    """The same as exporters write it out: one operator a step, scalars as arrays of one element."""

    def scalar(value: float) -> Floats:
        return np.array(value, np.float32)

    def norm(x: Any, gain: Any, shift: Any) -> Any:
        centred = x - tw.mean(x, axis=-1, keepdims=True)
        variance = tw.mean(centred**2.0, axis=-1, keepdims=True)
        return centred / tw.sqrt(variance + scalar(1e-12)) * gain + shift

    def gelu(x: Any) -> Any:
        return x * (tw.erf(x / scalar(math.sqrt(2))) + scalar(1.0)) * scalar(0.5)

    def softmax(x: Any) -> Any:
        powers = tw.exp(x - tw.max(x, axis=-1, keepdims=True))
        return powers / tw.sum(powers, axis=-1, keepdims=True)

    def heads(x: Any, order: tuple[int, ...]) -> Any:
        return x.reshape(1, model.rows, model.heads, model.width // model.heads).transpose(*order)

    def attended(x: Any, w: Layer, mask: Any) -> Any:
        orders = {"q": (0, 2, 1, 3), "k": (0, 2, 3, 1), "v": (0, 2, 1, 3)}
        q, k, v = (heads(w[f"{one}_bias"] + x @ w[one], order) for one, order in orders.items())
        shares = softmax((q @ k) / scalar(math.sqrt(model.width // model.heads)) + mask)
        joined = (shares @ v).transpose(0, 2, 1, 3).reshape(1, model.rows, model.width)
        return w["o_bias"] + joined @ w["o"]

    def whole(x: Any, mask: Any) -> Any:
        for w in layers:
            x = norm(attended(x, w, mask) + x, w["gain_1"], w["shift_1"])
            x = norm(w["down_bias"] + gelu(w["up_bias"] + x @ w["up"]) @ w["down"] + x, w["gain_2"], w["shift_2"])
        return x

    return whole
