"""Elements that move: transposes, slices, reshapes, broadcasts, and functions of single elements around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tilewright as tw
from tests.replay.planning import Planned, traced

X = (48, 64)


def graphs() -> Mapping[str, Planned]:
    return {
        "transpose": traced(lambda x: x.T * 1.0, X),
        "transpose-of-four": traced(lambda x: tw.transpose(x, (0, 2, 1, 3)) + 1.0, (2, 8, 6, 32)),
        "reverse": traced(lambda x: x[::-1] * 2.0, X),
        "reverse-of-reshaped": traced(lambda x: x[:, 1:33].reshape((1536,))[::-1] + 1.0, X),
        "slice": traced(lambda x: x[4:40:3, 8:] - 1.0, X),
        "split-axes": traced(lambda x: x.reshape(6, 8, 64).transpose(1, 0, 2) * 2.0, X),
        "merge-axes": traced(lambda x: tw.sum(x.reshape(48 * 64), axis=0), X),
        "broadcast-rows": traced(lambda x, b: tw.relu(x + b), X, (64,)),
        "broadcast-columns": traced(lambda x, b: x * b, X, (48, 1)),
        "broadcast-to": traced(lambda x: tw.broadcast_to(x, (5, 48, 64)) + 1.0, X),
        "outer-sum": traced(lambda x, y: x.reshape(200, 1) + y, (200,), (300,)),
        "rotated-halves": traced(_rotated, (2, 8, 32, 64), (32, 64), (32, 64)),
        "positions": traced(lambda x: tw.where(tw.arange(64) < 40, x, 0.0), X),
        "where": traced(lambda x, y: tw.where(x > y, x, -y), X, X),
        "clip": traced(lambda x: tw.clip(x, -1.0, 6.0), X),
        "shared": traced(_shared, X),
        "scalar": traced(lambda x: tw.exp(x) + 1.0, ()),
        "empty": traced(lambda x: x * 2.0, (0, 4)),
        "of-lengths": traced(lambda x: x.T + 1.0, tw.spec((tw.Dim("n", 1, 300, 48), 64))),
        "truth-values": traced(lambda x, y: tw.where(tw.logical_and(x, y > 0.0), y, 0.0), tw.spec(X, "bool"), X),
    }


def _rotated(x: Any, cosines: Any, sines: Any) -> Any:
    """Rotary embedding."""
    first, second = x[..., :32], x[..., 32:]
    return first * cosines[:, :32] - second * sines[:, :32], second * cosines[:, 32:] + first * sines[:, 32:]


def _shared(x: Any) -> Any:
    y = tw.tanh(x) * 2.0
    return y + 1.0, y.T, tw.sum(y, axis=0)
