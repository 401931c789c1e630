"""The slow, obvious attention: one query after the other, in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def attention_oracle(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top-left",
    window: Any = None,
    softcap: float | None = None,
    key_lengths: Any = None,
    scale: float | None = None,
) -> Any:
    """What `scaled_dot_product_attention` means for 4-D arrays, key by key; heads of q share those of k and v."""
    (batch, heads, queries, width), keys = q.shape, k.shape[2]
    group = heads // k.shape[1]
    bias = np.broadcast_to(0.0 if attn_mask is None else attn_mask, (batch, heads, queries, keys))
    left, right = window if isinstance(window, tuple) else (window, window)
    right = 0 if is_causal else right
    out = np.zeros((batch, heads, queries, v.shape[3]))
    for b, h, m in np.ndindex(batch, heads, queries):
        length = keys if key_lengths is None else int(key_lengths[b])
        own = m + (length - queries if causal_alignment == "bottom-right" else 0)
        powers = {}
        for j in range(min(length, keys)):
            if (right is not None and j > own + right) or (left is not None and j < own - left):
                continue
            score = float(q[b, h, m].astype("f8") @ k[b, h // group, j].astype("f8")) * (scale or 1 / math.sqrt(width))
            score = softcap * math.tanh(score / softcap) if softcap else score
            if bias.dtype == np.bool_:
                score = score if bias[b, h, m, j] else -math.inf
            else:
                score += float(bias[b, h, m, j])
            powers[j] = score
        most = max([score for score in powers.values() if score > -math.inf], default=0.0)
        total = sum(math.exp(score - most) for score in powers.values())
        for j, score in powers.items():
            if total:
                out[b, h, m] += math.exp(score - most) / total * v[b, h // group, j].astype("f8")
    return out
