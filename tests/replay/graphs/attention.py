"""Attention with every kind of mask, bias and layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tilewright as tw
from tests.replay.planning import Planned, traced

Q, K = (2, 4, 128, 64), (2, 4, 256, 64)
SQUARE = (2, 4, 256, 64)
GROUPED = (2, 2, 256, 64)
BOTTOM = {"is_causal": True, "causal_alignment": "bottom-right"}
LENGTHS = tw.spec((2,), "int64")


def graphs() -> Mapping[str, Planned]:
    return {**_static(), **_with_masks(), **_written_out(), **_of_lengths()}


def _static() -> dict[str, Planned]:
    """Masks that options describe."""
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "scaled": {"scale": 0.3},
        "causal": {"is_causal": True},
        "causal-bottom": BOTTOM,
        "window": {"window": 32},
        "window-left": {"window": (64, None)},
        "window-right": {"window": (None, 16)},
        "window-both": {"window": (48, 8), "causal_alignment": "bottom-right"},
        "window-causal": {"window": 40, **BOTTOM},
        "softcap": {"softcap": 20.0},
        "softcap-causal": {"softcap": 20.0, **BOTTOM},
    }
    found = {name: traced(_attention(**one), Q, K, K) for name, one in options.items()}
    found["causal-square"] = traced(_attention(is_causal=True), SQUARE, SQUARE, SQUARE)
    found["causal-unfused"] = traced(_attention(is_causal=True), SQUARE, SQUARE, SQUARE, fuse=False)
    found["grouped"] = traced(_attention(enable_gqa=True), SQUARE, GROUPED, GROUPED)
    found["grouped-causal"] = traced(_attention(enable_gqa=True, is_causal=True), SQUARE, GROUPED, GROUPED)
    found["one-key-head"] = traced(_attention(enable_gqa=True), SQUARE, (2, 1, 256, 64), (2, 1, 256, 64))
    found["three-dimensions"] = traced(_attention(), (8, 100, 40), (8, 77, 40), (8, 77, 24))
    found["two-dimensions"] = traced(_attention(is_causal=True), (300, 32), (300, 32), (300, 32))
    found["long"] = traced(_attention(is_causal=True), (1, 8, 2048, 128), (1, 8, 2048, 128), (1, 8, 2048, 128))
    return found


def _with_masks() -> dict[str, Planned]:
    """Masks that are arrays."""
    masks: dict[str, tuple[tuple[int, ...], str]] = {
        "truth": ((128, 256), "bool"),
        "truth-of-keys": ((2, 1, 1, 256), "bool"),
        "bias": ((2, 4, 128, 256), "float32"),
        "bias-of-heads": ((4, 128, 256), "float32"),
        "bias-of-keys": ((2, 1, 1, 256), "float32"),
    }
    found = {name: traced(_masked(), Q, K, K, tw.spec(*one)) for name, one in masks.items()}
    found["bias-causal"] = traced(_masked(**BOTTOM), Q, K, K, tw.spec(*masks["bias-of-heads"]))
    found["key-lengths"] = traced(_with_lengths(), Q, K, K, LENGTHS)
    found["key-lengths-causal"] = traced(_with_lengths(**BOTTOM), Q, K, K, LENGTHS)
    found["key-lengths-window"] = traced(_with_lengths(window=32, **BOTTOM), Q, K, K, LENGTHS)
    triangle = np.tri(128, 256, 128, dtype=bool)
    found["constant-truth"] = traced(lambda q, k, v: _attention()(q, k, v, triangle), Q, K, K)
    found["constant-additive"] = traced(_added(np.where(triangle, 0, -np.inf).astype(np.float32)), Q, K, K)
    slopes = (2.0 ** -np.arange(1, 5)).astype(np.float32)[:, None, None]
    distances = (np.arange(256)[None, :] - np.arange(128)[:, None]).astype(np.float32)
    found["alibi"] = traced(lambda q, k, v: _attention()(q, k, v, slopes * distances), Q, K, K)
    return found


def _written_out() -> dict[str, Planned]:
    """As users write it."""
    return {
        "written": traced(_added(None), Q, K, K),
        "written-where": traced(_where, SQUARE, SQUARE, SQUARE),
        "written-relu": traced(lambda q, k, v: tw.relu(q @ k.mT) @ v, Q, K, K),
        "projected": traced(_projected, (1, 128, 96), (96, 96), (96, 96), (96, 96), (96, 96)),
        "transposed-heads": traced(_transposed, (2, 128, 4, 64), (2, 256, 4, 64), (2, 256, 4, 64)),
        "constant-keys": traced(lambda q: tw.softmax(q @ _numbers(64, 256)) @ _numbers(256, 64), (2, 128, 64)),
    }


def _of_lengths() -> dict[str, Planned]:
    """Lengths that are known at run time."""
    rows, keys = tw.Dim("rows", 1, 512, 128), tw.Dim("keys", 1, 4096, 256)
    queries, kept = tw.spec((2, 4, rows, 64)), tw.spec((2, 4, keys, 64))
    return {
        "lengths": traced(_attention(), queries, kept, kept),
        "lengths-causal": traced(_attention(is_causal=True), queries, queries, queries),
        "lengths-keys": traced(_attention(), (2, 4, 16, 64), kept, kept),
    }


def _attention(**options: Any) -> Callable[..., Any]:
    return lambda q, k, v, mask=None: tw.scaled_dot_product_attention(q, k, v, mask, **options)


def _masked(**options: Any) -> Callable[..., Any]:
    return lambda q, k, v, mask: tw.scaled_dot_product_attention(q, k, v, mask, **options)


def _with_lengths(**options: Any) -> Callable[..., Any]:
    return lambda q, k, v, lengths: tw.scaled_dot_product_attention(q, k, v, key_lengths=lengths, **options)


def _added(mask: Any) -> Callable[..., Any]:
    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.mT * 0.125
        return tw.softmax(scores if mask is None else scores + mask) @ v

    return attention


def _where(q: Any, k: Any, v: Any) -> Any:
    is_seen = tw.arange(256).reshape(256, 1) >= tw.arange(256)
    return tw.softmax(tw.where(is_seen, q @ k.mT / 8.0, -np.inf)) @ v


def _projected(x: Any, q: Any, k: Any, v: Any, o: Any) -> Any:
    def heads(projected: Any) -> Any:
        return projected.reshape(1, 128, 4, 24).transpose(0, 2, 1, 3)

    attended = tw.scaled_dot_product_attention(heads(x @ q), heads(x @ k), heads(x @ v))
    return attended.transpose(0, 2, 1, 3).reshape(1, 128, 96) @ o


def _transposed(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (tw.swapaxes(one, 1, 2) for one in (q, k, v))
    return tw.swapaxes(tw.scaled_dot_product_attention(q, k, v), 1, 2)


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)
