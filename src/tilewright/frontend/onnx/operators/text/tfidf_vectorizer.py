"""TfIdfVectorizer: how often the n-grams of a pool occur in a row of tokens, with gaps and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class TfIdfVectorizer:
    """Float32 rows of max(ngram_indexes) + 1 counts: of shape [D] for tokens [C], [N, D] for [N, C].

    An n-gram may skip 0 ... max_skip_count tokens between two of its own, the same number everywhere; single tokens are
    counted once. TF gives counts, IDF the weight of what occurs, TFIDF weight times count.
    """

    max_gram_length: int
    max_skip_count: int
    min_gram_length: int
    mode: str
    ngram_counts: Sequence[int]
    ngram_indexes: Sequence[int]
    pool_int64s: Sequence[int] = ()
    pool_strings: Sequence[str] = ()
    weights: Sequence[float] = ()

    def reference(self, x: Any) -> Any:
        self._check(x)
        pool, rows = self._pool(), np.atleast_2d(x).tolist()
        counts = np.zeros(check_size((len(rows), max(self.ngram_indexes) + 1), "TfIdfVectorizer"), np.float32)
        factors = np.array(self.weights or [1.0] * len(self.ngram_indexes), np.float32)
        for row, tokens in zip(counts, rows, strict=True):
            found = np.zeros(len(self.ngram_indexes), np.float32)
            for gram in self._grams(tokens):
                if gram in pool:
                    found[pool[gram]] += 1
            found = np.minimum(found, 1) if self.mode == "IDF" else found
            np.add.at(row, list(self.ngram_indexes), found * (1 if self.mode == "TF" else factors))
        return counts.reshape((*np.shape(x)[:-1], counts.shape[1]))

    def _check(self, x: Any) -> None:
        if self.mode not in ("TF", "IDF", "TFIDF"):
            raise UnsupportedOperation(f"mode {self.mode!r}", where="TfIdfVectorizer")
        indexes = self.ngram_indexes
        if np.ndim(x) not in (1, 2) or len(indexes) != len(self.weights or indexes) or not indexes:
            raise ShapeError("tokens are [C] or [N, C]; weights as many as indexes", where="TfIdfVectorizer")

    def _pool(self) -> dict[tuple[Any, ...], int]:
        """The number of every n-gram of the pool; those of other lengths are counted but not looked for."""
        tokens, starts = self.pool_strings or self.pool_int64s, self.ngram_counts
        pool: dict[tuple[Any, ...], int] = {}
        number = 0
        for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(tokens)], strict=True), start=1):
            for first in range(start, end - size + 1, size):
                if self.min_gram_length <= size <= self.max_gram_length:
                    pool[tuple(tokens[first : first + size])] = number
                number += 1
        return pool

    def _grams(self, tokens: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The n-grams of a row, with every number of skipped tokens."""
        for size in range(self.min_gram_length, min(self.max_gram_length, len(tokens)) + 1):
            for stride in range(1, 2 if size == 1 else min(self.max_skip_count + 2, len(tokens) + 1)):
                for first in range(len(tokens) - stride * (size - 1)):
                    yield tuple(tokens[first : first + stride * (size - 1) + 1 : stride])


define("TfIdfVectorizer", TfIdfVectorizer, since=9)
