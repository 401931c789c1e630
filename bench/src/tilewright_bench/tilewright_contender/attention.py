"""Tilewright on attention: one fused kernel, planned for this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.attention_shapes import AttentionShape
from tilewright_bench.cases.case import aligned
from tilewright_bench.measurement import plain_read
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: AttentionCase, threads: int) -> Iterator[Contender]:
    """The kernel that `tw.jit` makes, beside a plain read of keys and values where one query reads them."""
    yield from plain_read.prepare(case.streamed, case.reference if case.streamed else np.empty(0), threads)
    given = (*case.operands, *_extra(case))
    kernel = tw.jit(function(case.shape), threads=threads).lower(*given).compile()
    out = aligned(case.result_shape)
    yield Contender(TILEWRIGHT, lambda: kernel(*given, out=out), lambda: out)


def _extra(case: AttentionCase) -> tuple[Any, ...]:
    """The operand behind queries, keys and values, if there is one."""
    match case.shape.bias:
        case "none":
            return ()
        case "mask":
            return (case.valid,)
        case "lengths":
            return (np.array([case.shape.valid_keys], np.int32),)
        case "alibi":
            return (case.added,)


def function(shape: AttentionShape) -> Callable[..., Any]:
    """`tw.scaled_dot_product_attention` with what the shape asks for."""
    name = "key_lengths" if shape.bias == "lengths" else "attn_mask"

    def attention(q: Any, k: Any, v: Any, *extra: Any) -> Any:
        options = dict(zip((name,), extra, strict=False))
        if shape.layout == "bmhk":
            q, k, v = (tw.swapaxes(operand, 1, 2) for operand in (q, k, v))
        grouped = shape.heads != shape.shared_heads
        attended = tw.scaled_dot_product_attention(q, k, v, is_causal=shape.causal, enable_gqa=grouped, **options)
        return tw.swapaxes(attended, 1, 2) if shape.layout == "bmhk" else attended

    return attention


PEER = Peer(
    TILEWRIGHT, (), prepare, "packs its operands inside the measured call; takes key lengths as such, other masks as peers do"
)
