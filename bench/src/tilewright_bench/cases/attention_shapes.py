"""The attention that `tilewright bench attention` measures: shapes, masks, layouts."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tilewright_bench.cases.odd_sizes import odd_below

Bias: TypeAlias = Literal["none", "mask", "lengths", "alibi"]
Layout: TypeAlias = Literal["bhmk", "bmhk"]
KEPT = 3, 4
"""Three of four keys are valid where keys are padded."""


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """softmax(q k^T / sqrt(width) + bias) v of one sequence; extents in elements.

    `bias`: "mask" is a boolean one (1, 1, 1, keys) over padded keys, "lengths" says the same by a number per sequence where a
    contender takes that, "alibi" is added (1, heads, queries, keys). `layout`: "bhmk" is (batch, heads, queries, width) for all
    operands and the result, "bmhk" (batch, queries, heads, width).
    """

    name: str
    heads: int
    queries: int
    keys: int
    width: int
    kv_heads: int = 0
    """Heads of keys and values, each for several of the queries; 0: as many as there are."""
    causal: bool = False
    """Query i sees the keys up to i."""
    bias: Bias = "none"
    layout: Layout = "bhmk"

    @property
    def shared_heads(self) -> int:
        """Heads of keys and values."""
        return self.kv_heads or self.heads

    @property
    def valid_keys(self) -> int:
        """Without the padded ones."""
        return self.keys * KEPT[0] // KEPT[1] if self.bias in ("mask", "lengths") else self.keys

    @property
    def pairs(self) -> int:
        """Of queries and keys, per head, that a causal mask or key lengths leave; what a boolean mask takes away counts.

        >>> AttentionShape("x", 1, 3, 4, 8, causal=True).pairs
        6
        """
        if not self.causal:
            return self.queries * (self.valid_keys if self.bias == "lengths" else self.keys)
        return sum(min(query + 1, self.keys) for query in range(self.queries))

    @property
    def flops(self) -> int:
        """Of both products over these pairs; a multiply and an add count as two."""
        return 4 * self.heads * self.pairs * self.width

    @property
    def moved_bytes(self) -> int:
        """Queries, keys, values, result and what is added, each once, in float32."""
        bias = self.heads * self.queries * self.keys if self.bias == "alibi" else 0
        return 4 * (2 * self.width * (self.heads * self.queries + self.shared_heads * self.keys) + bias)

    def dimensions(self, heads: int, rows: int) -> tuple[int, int, int, int]:
        """Of an operand in this layout.

        >>> AttentionShape("x", 12, 128, 128, 64, layout="bmhk").dimensions(12, 128)
        (1, 128, 12, 64)
        """
        return (1, heads, rows, self.width) if self.layout == "bhmk" else (1, rows, heads, self.width)

    def odd(self, generator: random.Random) -> AttentionShape:
        """The same with odd extents, at most a sixteenth smaller; the numbers of heads and of one query stay."""
        keys = odd_below(self.keys, generator)
        queries = keys if self.queries == self.keys else odd_below(self.queries, generator)
        width = odd_below(self.width, generator)
        name = f"{self.name} odd {self.heads}x{queries}x{keys}x{width}"
        return replace(self, name=name, queries=queries, keys=keys, width=width)


def _block(length: int, bias: Bias, layout: Layout) -> AttentionShape:
    """Of BERT-base and ViT-B."""
    parts = [f"block_{length}", *([bias] if bias != "none" else []), *([layout] if layout != "bhmk" else [])]
    return AttentionShape("_".join(parts), 12, length, length, 64, bias=bias, layout=layout)


LENGTHS = (128, 197, 512)
LONG = (
    AttentionShape("full_4096", 8, 4096, 4096, 64),
    AttentionShape("causal_4096", 8, 4096, 4096, 64, causal=True),
    AttentionShape("decode_4096", 32, 1, 4096, 128),
)
BLOCKS = tuple(_block(length, bias, "bhmk") for bias in ("none", "mask") for length in LENGTHS)
OTHER_BLOCKS = (
    *(_block(length, bias, "bmhk") for bias in ("none", "mask") for length in LENGTHS),
    *(_block(length, "lengths", "bhmk") for length in LENGTHS),
)
VARIANTS = (
    AttentionShape("alibi_1024", 8, 1024, 1024, 64, bias="alibi"),
    AttentionShape("gpt2_1024", 12, 1024, 1024, 64, causal=True),
    AttentionShape("grouped_512", 32, 512, 512, 128, kv_heads=8),
    AttentionShape("grouped_decode_4096", 32, 1, 4096, 128, kv_heads=8),
)
SHAPES = (*LONG, *BLOCKS, *OTHER_BLOCKS, *VARIANTS)


def attention_shape(name: str) -> AttentionShape:
    """The one of that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in SHAPES}[name]
