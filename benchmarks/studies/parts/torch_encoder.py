"""An encoder as BERT is built, for studies of calls: many parameters, little to compute."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, MOST_TOKENS = 1000, 64


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.after = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.end = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        query, key, value = (self._split(part(x)) for part in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(x.shape)
        x = self.norm(x + self.after(attended))
        return self.end(x + self.narrow(functional.gelu(self.wide(x))))

    def _split(self, x: Any) -> Any:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Encoder(nn.Module):  # type: ignore[misc]
    """Takes tokens, gives (batch, tokens, width) and the first token through a last layer. 16 parameters a layer, and 6.

    >>> len(list(Encoder(layers=6).parameters()))
    102
    """

    def __init__(self, layers: int, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(MOST_TOKENS, width)
        self.norm, self.pool = nn.LayerNorm(width), nn.Linear(width, width)
        self.layers = nn.ModuleList(_Layer(width, heads) for _ in range(layers))

    def forward(self, tokens: Any) -> tuple[Any, Any]:
        x = self.norm(self.words(tokens) + self.places.weight[: tokens.shape[-1]])
        for layer in self.layers:
            x = layer(x)
        return x, torch.tanh(self.pool(x[:, 0]))


def encoder(layers: int) -> Any:
    """One with random weights, none of which is zero everywhere."""
    torch.manual_seed(0)
    model = Encoder(layers)
    model.eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.uniform_(parameter, 0.5, 1.5)
    return model


def tokens(count: int) -> Any:
    """(1, count)."""
    return torch.randint(0, VOCABULARY, (1, count))
