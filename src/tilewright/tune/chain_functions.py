"""The chains of Table IV as NumPy functions, written as by a user."""

from __future__ import annotations

from typing import Any

import tilewright as tw


def gemm_chain(a: Any, b: Any, d: Any) -> Any:
    """e = (a b) d; a (batch, m, k), b (batch, k, l), d (batch, l, n)."""
    return tw.einsum("bml,bln->bmn", tw.einsum("bmk,bkl->bml", a, b), d)


def attention(q: Any, k: Any, v: Any) -> Any:
    """softmax(q k) v, the softmax over l; q (batch, m, k), k (batch, k, l), v (batch, l, n)."""
    scores = tw.einsum("bmk,bkl->bml", q, k)
    return tw.einsum("bml,bln->bmn", tw.softmax(scores, axis=-1), v)
