"""One token after the other: few rows, caches that grow, heads that share keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tilewright as tw
from tests.replay.planning import Planned, traced

KEYS = (1, 64, 512, 4096)


def graphs() -> Mapping[str, Planned]:
    found = {f"keys-{keys}": traced(_attend, (1, 8, 1, 64), (1, 8, keys, 64), (1, 8, keys, 64)) for keys in KEYS}
    kept = tw.Dim("keys", 1, 8192, 512)
    found |= {
        "keys-of-any-length": traced(_attend, (1, 8, 1, 64), tw.spec((1, 8, kept, 64)), tw.spec((1, 8, kept, 64))),
        "grouped": traced(_grouped, (1, 32, 1, 128), (1, 8, 1024, 128), (1, 8, 1024, 128)),
        "several-rows": traced(_bottom, (1, 8, 4, 64), (1, 8, 512, 64), (1, 8, 512, 64)),
        "batch-of-lengths": traced(
            lambda q, k, v, n: tw.scaled_dot_product_attention(q, k, v, key_lengths=n),
            *((16, 8, 1, 64), (16, 8, 512, 64), (16, 8, 512, 64), tw.spec((16,), "int64")),
        ),
        "vector-by-matrix": traced(tw.matmul, (1, 768), (768, 3072)),
        "vector-by-constant": traced(lambda x: x @ _numbers(768, 768), (1, 768)),
        "matrix-by-vector": traced(tw.matmul, (3072, 768), (768,)),
        "vector-by-transposed": traced(lambda x, w: x @ w.T, (1, 768), (5000, 768)),
        "four-rows": traced(lambda x: tw.gelu(x @ _numbers(256, 1024)) @ _numbers(1024, 256), (4, 256)),
        "two-projections": traced(lambda x, a, b: (x @ a, x @ b), (1, 256), (256, 256), (256, 64)),
        "dot-product": traced(lambda x, y: tw.sum(x * y), (5000,), (5000,)),
    }
    return found


def _attend(q: Any, k: Any, v: Any) -> Any:
    return tw.scaled_dot_product_attention(q, k, v)


def _grouped(q: Any, k: Any, v: Any) -> Any:
    return tw.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def _bottom(q: Any, k: Any, v: Any) -> Any:
    return tw.scaled_dot_product_attention(q, k, v, is_causal=True, causal_alignment="bottom-right")


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(shape, np.float32)
