"""Reductions of rows and columns: softmax, norms, statistics, and functions of points beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tilewright as tw
from tests.replay.planning import Planned, traced

X = (64, 200)
REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def graphs() -> Mapping[str, Planned]:
    found: dict[str, Planned] = {}
    for name in REDUCTIONS:
        function = getattr(tw, name)
        found[f"{name}-of-rows"] = traced(lambda x, f=function: f(x, axis=1), X)
        found[f"{name}-of-columns"] = traced(lambda x, f=function: f(x, axis=0, keepdims=True), X)
    found |= {
        "sum-of-all": traced(lambda x: tw.sum(x), (30, 40, 50)),
        "sum-of-middle": traced(lambda x: tw.sum(x, axis=1), (30, 40, 50)),
        "long-sum": traced(lambda x: tw.sum(x), (3_000_000,)),
        "long-mean-of-columns": traced(lambda x: tw.mean(x * x, axis=0), (1_000_000, 3)),
        "softmax": traced(tw.softmax, X),
        "softmax-of-columns": traced(lambda x: tw.softmax(x, axis=0), X),
        "softmax-written": traced(_softmax, X),
        "softmax-safe": traced(tw.safe_softmax, X),
        "softmax-of-scaled": traced(lambda x: tw.softmax((x * 2.0).reshape(32, 400)), X),
        "log-softmax": traced(lambda x: x - tw.max(x, axis=1, keepdims=True) - tw.log(_powers(x)), X),
        "layer-norm": traced(lambda x, g, b: tw.layer_norm(x, (200,), g, b), X, (200,), (200,)),
        "layer-norm-written": traced(_norm, X),
        "rms-norm": traced(lambda x, g: tw.rms_norm(x, (200,), g), X, (200,)),
        "norm-of-product": traced(lambda x, w: _norm(x @ w), X, (200, 96)),
        "product-of-norm": traced(lambda x, w: tw.rms_norm(x, (200,)) @ w, X, (200, 96)),
        "product-of-softmax": traced(lambda x, w: tw.softmax(x) @ w, X, (200, 96)),
        "statistics": traced(lambda x: (tw.mean(x, axis=1), tw.max(x, axis=1), tw.sum(x * x, axis=1)), X),
        "tanh-beside-max": traced(lambda x: tw.tanh(x - tw.max(x, axis=1, keepdims=True)), X),
        "softmax-of-lengths": traced(tw.softmax, tw.spec((64, tw.Dim("n", 1, 5000, 200)))),
    }
    return found


def _powers(x: Any) -> Any:
    return tw.sum(tw.exp(x - tw.max(x, axis=1, keepdims=True)), axis=1, keepdims=True)


def _softmax(x: Any) -> Any:
    powers = tw.exp(x - tw.max(x, axis=-1, keepdims=True))
    return powers / tw.sum(powers, axis=-1, keepdims=True)


def _norm(x: Any) -> Any:
    centred = x - tw.mean(x, axis=-1, keepdims=True)
    return centred / tw.sqrt(tw.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
