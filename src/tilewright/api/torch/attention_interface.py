"""`attn_implementation="tilewright"` of Hugging Face's transformers: attention alone, through its AttentionInterface (5.24).

transformers is imported by `register_attention` and by nothing else.
"""

from __future__ import annotations

from typing import Any

import torch

from tilewright.api.torch.fused import attention
from tilewright.errors import TilewrightError, UnsupportedOperation

NAME = "tilewright"
WHERE = "attn_implementation='tilewright'"


def register_attention() -> str:
    """Make `attn_implementation="tilewright"` known to transformers, which is imported; the name is given back.

    Models that call transformers' attention interface run their attention as one kernel from then on, if they are loaded with
    `attn_implementation="tilewright"` or told by `model.set_attn_implementation("tilewright")`: eagerly, and under torch.compile
    with any backend. Masks are those that "sdpa" gets. Scaling, causality, heads that share keys and values, softcap, sliding
    windows and position biases are honoured; rows of which nothing takes part give 0. Dropout, `output_attentions`, attention
    sinks and gradients raise `UnsupportedOperation`. Raises `TilewrightError` where transformers is missing or has no such
    interface.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask
    except ImportError as problem:
        hint = "pip install 'transformers>=5.24'"
        raise TilewrightError("transformers has no interface for attention", why=str(problem), hint=hint) from problem
    AttentionInterface.register(NAME, attention_forward)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return NAME


def attention_forward(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    position_bias: Any = None,
    **others: Any,
) -> tuple[Any, None]:
    """What transformers calls: q (batch, heads, m, k), k and v with as many heads or fewer, give (batch, m, heads, n).

    A mask says all about which keys take part, or what is added. Without one, causal queries of more than one row take the keys
    up to their own, counted from the first ones, and at most as many as a sliding window has.
    """
    _check(dropout, others)
    rows, keys = query.shape[2], key.shape[2]
    is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    window = None
    if attention_mask is None and sliding_window is not None and keys > sliding_window:
        window = _window(rows, sliding_window, bool(is_causal))
    result = attention(
        query if query.shape[0] == key.shape[0] else query.expand(key.shape[0], *query.shape[1:]),
        key,
        value,
        _mask(attention_mask, position_bias, query.dtype),
        is_causal=attention_mask is None and rows > 1 and bool(is_causal),
        causal_alignment="top-left" if rows > 1 else "bottom-right",
        window=window,
        softcap=softcap,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return result.transpose(1, 2).contiguous(), None


def _check(dropout: float, others: dict[str, Any]) -> None:
    """Raises `UnsupportedOperation` for what would be left out without a word."""
    if dropout:
        hint = "call model.eval(), or set the dropout of attention to 0 in the model's config"
        raise UnsupportedOperation(f"dropout of {dropout} in attention", where=WHERE, why="kernels drop nothing", hint=hint)
    if others.get("output_attentions"):
        why, hint = "the kernel never stores the weights of attention", 'load the model with attn_implementation="eager"'
        raise UnsupportedOperation("output_attentions=True", where=WHERE, why=why, hint=hint)
    for name in ("s_aux", "sinks", "head_mask"):
        if others.get(name) is not None:
            hint = 'load the model with attn_implementation="eager"'
            raise UnsupportedOperation(f"attention with {name}", where=WHERE, why="the kernel does not take it", hint=hint)


def _window(rows: Any, sliding_window: int, is_causal: bool) -> tuple[int, int | None]:
    """Which keys beside its own a query takes: its own is among those that the window counts."""
    if not is_causal and rows > 1:
        why = "which keys a window has is not known where attention is not causal and no mask is given"
        raise UnsupportedOperation(f"sliding_window={sliding_window}", where=WHERE, why=why, hint="pass an attention mask")
    return sliding_window - 1, 0 if is_causal else None


def _mask(mask: Any, bias: Any, dtype: Any) -> Any:
    """What is added to the scores and which of them count: truth values, numbers in the type of the queries, or None."""
    if mask is not None and mask.dtype != torch.bool:
        mask = mask.to(dtype)
    if bias is None:
        return mask
    bias = bias.to(dtype)
    if mask is None:
        return bias
    return torch.where(mask, bias, -torch.inf) if mask.dtype == torch.bool else bias + mask
