"""Attention and feed-forward blocks of transformers, written in the ways in which libraries write them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class SelfAttention(nn.Module):
    """Multi-head attention of [batch, tokens, width] with three projections, as BERT has it; `mask` is added to the scores."""

    def __init__(self, width: int, heads: int, *, is_fused: bool) -> None:
        super().__init__()
        self.heads, self.is_fused = heads, is_fused
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Any, mask: Any) -> Any:
        q, k, v = (split_heads(project(x), self.heads) for project in (self.query, self.key, self.value))
        if self.is_fused:
            context = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask
            context = torch.matmul(functional.softmax(scores, dim=-1), v)
        return self.out(merge_heads(context))


class PackedAttention(nn.Module):
    """Multi-head attention with one projection for queries, keys and values, as vision transformers have it."""

    def __init__(self, width: int, heads: int, *, is_fused: bool) -> None:
        super().__init__()
        self.heads, self.is_fused = heads, is_fused
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        batch, tokens, width = x.shape
        packed = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = packed.unbind(0)
        if self.is_fused:
            context = functional.scaled_dot_product_attention(q, k, v)
        else:
            context = ((q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)).softmax(dim=-1) @ v
        return self.out(context.transpose(1, 2).reshape(batch, tokens, width))


class CausalAttention(nn.Module):
    """GPT-2's attention: tokens see those before them, keys and values of former calls included, which it returns."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any, past_key: Any, past_value: Any) -> tuple[Any, Any, Any]:
        q, k, v = (split_heads(one, self.heads) for one in self.qkv(x).split(x.shape[-1], dim=-1))
        if past_key is not None:
            k, v = torch.cat([past_key, k], dim=-2), torch.cat([past_value, v], dim=-2)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        rows = torch.arange(k.shape[-2] - q.shape[-2], k.shape[-2], device=x.device)[:, None]
        is_seen = torch.arange(k.shape[-2], device=x.device)[None, :] <= rows
        scores = torch.where(is_seen, scores, torch.finfo(torch.float32).min)
        return self.out(merge_heads(torch.matmul(scores.softmax(dim=-1), v))), k, v


class TanhGelu(nn.Module):
    """The tanh form of Gelu, written out."""

    def forward(self, x: Any) -> Any:
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def feed_forward(width: int, hidden: int, activation: Any = None) -> Any:
    """Two linear layers with a Gelu between."""
    return nn.Sequential(nn.Linear(width, hidden), activation or nn.GELU(), nn.Linear(hidden, width))


def split_heads(x: Any, heads: int) -> Any:
    """[batch, tokens, heads * size] as [batch, heads, tokens, size]."""
    return x.view(x.shape[0], x.shape[1], heads, x.shape[2] // heads).transpose(1, 2)


def merge_heads(x: Any) -> Any:
    """[batch, heads, tokens, size] as [batch, tokens, heads * size]."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])
