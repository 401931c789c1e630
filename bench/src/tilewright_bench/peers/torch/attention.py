"""PyTorch on attention: its fused attention, the same in steps, and what `torch.compile` makes of attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.torch import compilation as torch_compile


def prepare(case: AttentionCase, threads: int) -> Iterator[Contender]:
    """Operands stored (b, m, h, k) are views, as PyTorch's models have them. Compilation ends with the first call."""
    import torch

    torch.set_num_threads(threads)
    torch_compile.forget()
    operands = tuple(torch.from_numpy(operand) for operand in case.operands)
    mask = _mask(case)
    yield _contender(case, "torch", lambda q, k, v: _fused(case, q, k, v, mask), operands)
    if not case.shape.causal and case.shape.heads == case.shape.shared_heads:
        yield _contender(case, "torch in steps", lambda q, k, v: _in_steps(q, k, v, mask), operands)
    compiled = torch_compile.compiled(lambda: lambda q, k, v: _fused(case, q, k, v, mask))
    yield _contender(case, "torch.compile", compiled, operands)
    if case.shape.causal or case.shape.bias in ("alibi", "lengths"):
        compiled = torch_compile.compiled(partial(_flexible, case))
        yield _contender(case, "torch.compile flex", compiled, operands)


def _mask(case: AttentionCase) -> Any:
    """Boolean, which is the faster way to say it, or added."""
    import torch

    if case.shape.bias == "none":
        return None
    return torch.from_numpy(case.added if case.shape.bias == "alibi" else case.valid)


def _fused(case: AttentionCase, q: Any, k: Any, v: Any, mask: Any) -> Any:
    import torch

    grouped = case.shape.heads != case.shape.shared_heads
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=case.shape.causal, enable_gqa=grouped
    )


def _in_steps(q: Any, k: Any, v: Any, mask: Any) -> Any:
    import torch

    scores = torch.matmul(q * (1 / math.sqrt(q.shape[-1])), k.transpose(-1, -2))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return torch.matmul(torch.softmax(scores, -1), v)


def _flexible(case: AttentionCase) -> Callable[[Any, Any, Any], Any]:
    """`flex_attention`, which leaves out blocks that are known to be empty; for what is causal, biased, or has key lengths."""
    import torch
    from torch.nn.attention import flex_attention as flex

    shape, options = case.shape, dict[str, Any]()
    if shape.bias == "alibi":
        added = torch.from_numpy(case.added)
        options["score_mod"] = lambda score, b, h, i, j: score + added[b, h, i, j]
    else:
        valid = shape.valid_keys
        seen = (lambda b, h, i, j: i >= j) if shape.causal else (lambda b, h, i, j: j < valid)
        options["block_mask"] = flex.create_block_mask(seen, None, None, shape.queries, shape.keys, device="cpu")
    return lambda q, k, v: flex.flex_attention(q, k, v, **options)


def _contender(case: AttentionCase, name: str, attend: Callable[[Any, Any, Any], Any], operands: tuple[Any, ...]) -> Contender:
    import torch

    last: list[Any] = []
    swapped = case.shape.layout == "bmhk"

    def call() -> None:
        with torch.inference_mode():
            q, k, v = (operand.transpose(1, 2) for operand in operands) if swapped else operands
            last[:] = [attend(q, k, v)]

    return Contender(name, call, lambda: (last[0].transpose(1, 2) if swapped else last[0]).numpy())


PEER = Peer(
    "torch",
    ("torch",),
    prepare,
    "inference mode; fused and in steps, eager; fused and flexible (causal, biased, key lengths), compiled by Inductor "
    "before the measurement; (b, m, h, k) as views; masks boolean",
)
