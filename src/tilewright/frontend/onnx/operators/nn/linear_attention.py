"""LinearAttention: a matrix of state for every head, decayed, corrected by and read with every token.

    S = exp(g) S + beta k (v - (exp(g) S)^T k)^T,    o = scale S^T q

"linear" has neither decay g nor correction (S = S + k v^T), "gated" only the decay, "delta" only the correction.
S. Yang, J. Kautz, A. Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule", arXiv:2412.06464 (2024), section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define

_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""Whether a rule has a decay, and whether it has a correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearAttention:
    """Outputs [batch, tokens, q_num_heads * d_v] and the last state [batch, kv_num_heads, d_k, d_v].

    Keys, values, decay (also one per head) and beta (also one for all heads) are [batch, tokens, kv_num_heads * ...].
    """

    chunk_size: int = 64
    kv_num_heads: int
    q_num_heads: int
    scale: float = 0.0
    update_rule: str = "gated_delta"

    def reference(self, query: Any, key: Any, value: Any, past_state: Any = None, decay: Any = None, beta: Any = None) -> Any:
        is_gated, is_delta = self._rule(decay, beta)
        heads = self.kv_num_heads
        q, k, v = _heads(query, self.q_num_heads), _heads(key, heads), _heads(value, heads)
        if q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3] or self.q_num_heads % heads:
            raise ShapeError(f"queries {q.shape}, keys {k.shape}, values {v.shape}", where="LinearAttention")
        state = np.zeros((k.shape[0], *k.shape[2:], v.shape[3])) if past_state is None else np.asarray(past_state, np.float64)
        gates = np.exp(_heads(decay, heads)) if is_gated else np.ones((*k.shape[:3], 1))
        rates = np.asarray(beta, np.float64) if is_delta else np.ones((*k.shape[:2], 1))
        outputs = np.empty((*q.shape[:3], v.shape[3]))
        for token in range(q.shape[1]):
            state = state * gates[:, token, :, :, None]
            seen = np.einsum("bhkv,bhk->bhv", state, k[:, token]) if is_delta else 0.0
            state = state + np.einsum("bhk,bhv->bhkv", k[:, token], (v[:, token] - seen) * rates[:, token, :, None])
            shared = np.repeat(state, self.q_num_heads // heads, axis=1)
            outputs[:, token] = np.einsum("bhkv,bhk->bhv", shared, q[:, token])
        outputs *= self.scale or 1 / math.sqrt(q.shape[3])
        state_type = (query if past_state is None else past_state).dtype
        return outputs.reshape(*q.shape[:2], -1).astype(query.dtype), state.astype(state_type)

    def _rule(self, decay: Any, beta: Any) -> tuple[bool, bool]:
        name = self.update_rule
        if name not in _RULES:
            raise UnsupportedOperation(f"update_rule {name!r}", where="LinearAttention", hint=f"choose from {', '.join(_RULES)}")
        is_gated, is_delta = _RULES[name]
        if (is_gated and decay is None) or (is_delta and beta is None):
            raise ShapeError(f"update_rule {name!r} without its decay or beta", where="LinearAttention")
        return is_gated, is_delta


def _heads(x: Any, count: int) -> Any:
    """[batch, tokens, heads * size] in float64 as [batch, tokens, heads, size]."""
    if np.ndim(x) != 3 or count < 1 or x.shape[2] % count:
        raise ShapeError(f"{count} heads of shape {np.shape(x)}", where="LinearAttention")
    return np.asarray(x, np.float64).reshape(*x.shape[:2], count, -1)


define("LinearAttention", LinearAttention, since=27)
