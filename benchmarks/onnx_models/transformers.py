"""BERT, GPT-2, ViT and MLP-Mixer.

J. Devlin et al., arXiv:1810.04805 (2018); A. Radford et al., "Language Models are Unsupervised Multitask Learners" (2019);
A. Dosovitskiy et al., arXiv:2010.11929 (2020); I. Tolstikhin et al., arXiv:2105.01601 (2021).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.onnx_models.attention import CausalAttention, PackedAttention, SelfAttention, TanhGelu, feed_forward


class BertLayer(nn.Module):
    """Attention and a feed-forward network, each with its residual and a layer norm behind."""

    def __init__(self, width: int, heads: int, *, is_fused: bool) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, is_fused=is_fused)
        self.attention_norm, self.norm = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.mlp = feed_forward(width, 4 * width)

    def forward(self, x: Any, mask: Any) -> Any:
        x = self.attention_norm(x + self.attention(x, mask))
        return self.norm(x + self.mlp(x))


class Bert(nn.Module):
    """Token numbers, a mask and token types [batch, tokens] to the last hidden states and the pooled first token."""

    def __init__(
        self, *, layers: int = 12, width: int = 768, heads: int = 12, vocabulary: int = 30522, is_fused: bool = False
    ) -> None:
        super().__init__()
        self.words, self.types = nn.Embedding(vocabulary, width), nn.Embedding(2, width)
        self.positions, self.norm = nn.Embedding(512, width), nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, is_fused=is_fused) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> tuple[Any, Any]:
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.norm(self.words(input_ids) + self.positions(positions) + self.types(token_type_ids))
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(torch.float32).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Encoder(nn.Module):
    """Layers of BERT over tokens [batch, tokens, width] that are embedded already, all of which see all."""

    def __init__(self, *, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(BertLayer(width, heads, is_fused=False) for _ in range(layers))

    def forward(self, x: Any) -> Any:
        mask = torch.zeros(1, 1, 1, 1)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Gpt2Layer(nn.Module):
    """Layer norms before causal attention and before a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.mlp = CausalAttention(width, heads), feed_forward(width, 4 * width, TanhGelu())
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Any, past_key: Any, past_value: Any) -> tuple[Any, Any, Any]:
        attended, key, value = self.attention(self.attention_norm(x), past_key, past_value)
        x = x + attended
        return x + self.mlp(self.norm(x)), key, value


class Gpt2(nn.Module):
    """Token numbers [batch, tokens] and what is kept of earlier ones to logits, and to what is to be kept.

    `past` has a key and a value [batch, heads, earlier tokens, size] for every layer, or nothing.
    """

    def __init__(self, *, layers: int = 12, width: int = 768, heads: int = 12, vocabulary: int = 50257) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        self.layers = nn.ModuleList(Gpt2Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, input_ids: Any, *past: Any) -> tuple[Any, ...]:
        start = past[0].shape[2] if past else 0
        positions = torch.arange(start, start + input_ids.shape[1], device=input_ids.device)
        x = self.words(input_ids) + self.positions(positions)
        present: list[Any] = []
        for number, layer in enumerate(self.layers):
            x, *kept = layer(x, *(past[2 * number : 2 * number + 2] or (None, None)))
            present += kept
        return torch.matmul(self.norm(x), self.words.weight.t()), *present


class VitLayer(nn.Module):
    """Layer norms before attention and before a feed-forward network."""

    def __init__(self, width: int, heads: int, *, is_fused: bool) -> None:
        super().__init__()
        self.attention, self.mlp = PackedAttention(width, heads, is_fused=is_fused), feed_forward(width, 4 * width)
        self.attention_norm, self.norm = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.norm(x))


class Vit(nn.Module):
    """Images [batch, 3, size, size] to logits of classes, through patches and a token for the class."""

    def __init__(
        self,
        *,
        layers: int = 12,
        width: int = 768,
        heads: int = 12,
        size: int = 224,
        patch: int = 16,
        classes: int = 1000,
        is_fused: bool = True,
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.layers = nn.ModuleList(VitLayer(width, heads, is_fused=is_fused) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)

    def forward(self, image: Any) -> Any:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class MixerLayer(nn.Module):
    """A network over the tokens of every channel, then one over the channels of every token."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.token_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.token_mlp, self.mlp = feed_forward(tokens, width // 2), feed_forward(width, 4 * width)

    def forward(self, x: Any) -> Any:
        x = x + self.token_mlp(self.token_norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp(self.norm(x))


class Mixer(nn.Module):
    """Images [batch, 3, size, size] to logits of classes, without attention."""

    def __init__(self, *, layers: int = 12, width: int = 768, size: int = 224, patch: int = 16, classes: int = 1000) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.layers = nn.Sequential(*(MixerLayer((size // patch) ** 2, width) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, image: Any) -> Any:
        x = self.layers(self.patches(image).flatten(2).transpose(1, 2))
        return self.head(self.norm(x).mean(dim=1))
