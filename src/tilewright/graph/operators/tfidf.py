"""TfIdfVectorizer: how often the n-grams of a pool occur in a row of tokens, with gaps and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size

Pool = dict[tuple[Any, ...], int]


def meaning(
    x: Any,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] = (),
    pool_strings: Sequence[str] = (),
    weights: Sequence[float] = (),
) -> Any:
    """Float32 rows of max(ngram_indexes) + 1 counts: of shape [D] for tokens [C], [N, D] for [N, C].

    An n-gram may skip 0 ... max_skip_count tokens between two of its own, the same number everywhere; single tokens are
    counted once. TF gives counts, IDF the weight of what occurs, TFIDF weight times count.
    """
    if mode not in ("TF", "IDF", "TFIDF"):
        raise UnsupportedOperation(f"mode {mode!r}", where="TfIdfVectorizer")
    if np.ndim(x) not in (1, 2) or len(ngram_indexes) != len(weights or ngram_indexes) or not ngram_indexes:
        raise ShapeError("tokens are [C] or [N, C]; weights as many as indexes", where="TfIdfVectorizer")
    pool = _pool(pool_strings or pool_int64s, ngram_counts, min_gram_length, max_gram_length)
    rows = np.atleast_2d(x).tolist()
    counts = np.zeros(check_size((len(rows), max(ngram_indexes) + 1), "TfIdfVectorizer"), np.float32)
    factors = np.array(weights or [1.0] * len(ngram_indexes), np.float32)
    for row, tokens in zip(counts, rows, strict=True):
        found = np.zeros(len(ngram_indexes), np.float32)
        for gram in _grams(tokens, min_gram_length, max_gram_length, max_skip_count):
            if gram in pool:
                found[pool[gram]] += 1
        found = np.minimum(found, 1) if mode == "IDF" else found
        np.add.at(row, list(ngram_indexes), found * (1 if mode == "TF" else factors))
    return counts.reshape((*np.shape(x)[:-1], counts.shape[1]))


def _pool(tokens: Sequence[Any], starts: Sequence[int], shortest: int, longest: int) -> Pool:
    """The number of every n-gram of the pool; those of other lengths are counted but not looked for."""
    pool: Pool = {}
    number = 0
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(tokens)], strict=True), start=1):
        for first in range(start, end - size + 1, size):
            if shortest <= size <= longest:
                pool[tuple(tokens[first : first + size])] = number
            number += 1
    return pool


def _grams(tokens: Sequence[Any], shortest: int, longest: int, most_skipped: int) -> Iterator[tuple[Any, ...]]:
    for size in range(shortest, min(longest, len(tokens)) + 1):
        for stride in range(1, 2 if size == 1 else min(most_skipped + 2, len(tokens) + 1)):
            for first in range(len(tokens) - stride * (size - 1)):
                yield tuple(tokens[first : first + stride * (size - 1) + 1 : stride])


define("TfIdfVectorizer", meaning, since=9)
