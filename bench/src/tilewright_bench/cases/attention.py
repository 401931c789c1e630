"""Attention as a case of a benchmark: operands, float64 reference, and what it must reach."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases import attention_shapes
from tilewright_bench.cases.attention_shapes import AttentionShape, attention_shape
from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, aligned, relative_error
from tilewright_bench.cases.required import NOTHING, Required
from tilewright_bench.cases.shape_case import ShapeCase

REQUIRED = {
    "full_4096": Required(share=0.85),
    "causal_4096": Required(share=0.83),
    "decode_4096": Required(read_share=0.93),
}
TABLES = {
    "long attention and decoding": attention_shapes.LONG,
    "attention blocks of BERT-base and ViT-B, operands (b, h, m, k)": attention_shapes.BLOCKS,
    "the same blocks, operands (b, m, h, k), or key lengths instead of the mask": attention_shapes.OTHER_BLOCKS,
    "biased, causal and grouped heads": attention_shapes.VARIANTS,
}
SLOPE = 8.0
"""ALiBi's: head h of n adds -2^(-8 (h + 1) / n) per key of distance (Press et al., Train Short, Test Long, section 3)."""


@dataclass(frozen=True)
class AttentionCase(ShapeCase[AttentionShape]):
    """One attention and its operands."""

    @property
    def prepacked(self) -> bool:
        """All operands may change between calls."""
        return False

    @cached_property
    def operands(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Queries, keys and values in the shape's layout: standard normal data, the same in every run."""
        shape, generator = self.shape, np.random.default_rng(SEED)
        extents = ((shape.heads, shape.queries), *((shape.shared_heads, shape.keys),) * 2)
        arrays = [aligned(shape.dimensions(heads, rows)) for heads, rows in extents]
        for array in arrays:
            generator.standard_normal(dtype=np.float32, out=array)
        return arrays[0], arrays[1], arrays[2]

    @property
    def by_head(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The operands as (1, heads, rows, width), views where they are stored otherwise."""
        q, k, v = self.operands
        return (q, k, v) if self.shape.layout == "bhmk" else (q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2))

    @property
    def streamed(self) -> tuple[FloatArray, ...]:
        """What one query has to read, once, which binds it."""
        return self.operands[1:] if self.shape.queries == 1 else ()

    @cached_property
    def valid(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which keys are not padded: (1, 1, 1, keys)."""
        return (np.arange(self.shape.keys) < self.shape.valid_keys)[None, None, None]

    @cached_property
    def added(self) -> FloatArray:
        """What is added to the scores: ALiBi's (1, heads, queries, keys), or 0 and -inf by the padding (1, 1, 1, keys)."""
        shape = self.shape
        if shape.bias != "alibi":
            return np.where(self.valid, np.float32(0), np.float32(-np.inf))
        slopes = 2.0 ** (-SLOPE * np.arange(1, shape.heads + 1) / shape.heads)
        distance = np.abs(np.arange(shape.queries)[:, None] - np.arange(shape.keys))
        added = aligned((1, shape.heads, shape.queries, shape.keys))
        added[0] = -slopes[:, None, None] * distance
        return added

    @property
    def result_shape(self) -> tuple[int, int, int, int]:
        """As the queries."""
        return self.shape.dimensions(self.shape.heads, self.shape.queries)

    @cached_property
    def reference(self) -> DoubleArray:
        """The result in float64, head by head: all scores at once may take a gigabyte."""
        result = np.empty(self.result_shape)
        by_head = result if self.shape.layout == "bhmk" else result.swapaxes(1, 2)
        for head in range(self.shape.heads):
            by_head[0, head] = self._attended(head)
        return result

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)

    def _attended(self, head: int) -> DoubleArray:
        shape, (queries, keys, values) = self.shape, self.by_head
        shared = head * shape.shared_heads // shape.heads
        scores = queries[0, head].astype(np.float64) @ keys[0, shared].astype(np.float64).T / np.sqrt(shape.width)
        if shape.bias != "none":
            scores += self.added[0, head % self.added.shape[1]]
        if shape.causal:
            scores[np.triu_indices(shape.queries, 1, shape.keys)] = -np.inf
        np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
        weighted: DoubleArray = scores @ values[0, shared].astype(np.float64) / scores.sum(axis=-1, keepdims=True)
        return weighted


def attention_cases(names: Sequence[str], odd_seed: int | None = None) -> list[AttentionCase]:
    """The cases of these names, and behind each table its cases of random odd sizes, if there is a seed for them."""
    even = [AttentionCase(attention_shape(name), _table(name), REQUIRED.get(name, NOTHING)) for name in names]
    if odd_seed is None:
        return even
    generator = random.Random(odd_seed)
    return [*even, *(AttentionCase(case.shape.odd(generator), f"odd sizes, seed {odd_seed}", even=case.name) for case in even)]


def _table(name: str) -> str:
    return next(title for title, shapes in TABLES.items() if attention_shape(name) in shapes)
