"""Tensors of strings, arrays of objects: put together, split, normalized, and matched with expressions of RE2.

TfIdfVectorizer counts how often the n-grams of a pool occur in a row of tokens, with gaps and weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.sizes import check_size


@onnx_function("StringConcat", since=20)
def string_concat(left: Any, right: Any) -> Any:
    """Both strings in a row, with broadcasting."""
    try:
        return np.asarray(np.add(np.asarray(left, object), np.asarray(right, object)), object)
    except ValueError as error:
        raise ShapeError("operands that do not broadcast", where="StringConcat", why=str(error)) from error


@onnx_function("StringSplit", since=20)
def string_split(x: Any, *, delimiter: Any, maxsplit: Any) -> Any:
    """The parts of every string along a new last axis, filled with empty strings, and how many there are (int64).

    Without a delimiter strings are split at white space, of which any amount counts once and none at the ends.
    """
    x = np.asarray(x, object)
    texts = x.reshape(-1) if delimiter else [text.strip() for text in x.reshape(-1)]
    most = -1 if maxsplit is None else maxsplit
    parts = [text.split(delimiter or None, most) for text in texts]
    longest = max(map(len, parts), default=0)
    table = np.full((len(parts), longest), "", object)
    for row, found in zip(table, parts, strict=True):
        row[: len(found)] = found
    return table.reshape(*x.shape, longest), np.array([len(found) for found in parts], np.int64).reshape(x.shape)


_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@onnx_function("StringNormalizer", since=10)
def string_normalizer(x: Any, *, case_change_action: Any, is_case_sensitive: Any, stopwords: Any) -> Any:
    """The strings of a [C] or [1, C] tensor without stop words, in another case; one empty string if none is left."""
    x = np.asarray(x, object)
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ShapeError(f"strings of shape {x.shape}", where="StringNormalizer", why="only [C] and [1, C] have a meaning")
    if case_change_action not in _CASES:
        raise UnsupportedOperation(f"case_change_action {case_change_action!r}", where="StringNormalizer")
    fold: Callable[[str], str] = str if is_case_sensitive else str.lower
    stops = {fold(word) for word in stopwords}
    kept = [_CASES[case_change_action](text) for text in x.reshape(-1) if fold(text) not in stops] or [""]
    return np.array(kept, object).reshape((1,) * (x.ndim - 1) + (-1,))


_POSIX = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "0-9a-zA-Z", "upper": "A-Z", "lower": "a-z", "space": r"\s", "word": r"\w"}


@onnx_operator("RegexFullMatch", since=20)
class RegexFullMatch:
    """Whether the pattern, in the syntax of RE2, matches the whole string."""

    pattern: str

    def reference(self, x: Any) -> Any:
        x = np.asarray(x, object)
        try:
            compiled = re.compile(_from_re2(self.pattern), re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise UnsupportedOperation(f"the pattern {self.pattern!r}", where="RegexFullMatch", why=str(error)) from error
        return np.array([compiled.fullmatch(text) is not None for text in x.reshape(-1)], bool).reshape(x.shape)


def _from_re2(pattern: str) -> str:
    """Python's spelling of what RE2 writes otherwise: POSIX classes and the end of the text."""
    for name, characters in _POSIX.items():
        pattern = pattern.replace(f"[:{name}:]", characters)
    return pattern.replace(r"\z", r"\Z")


@onnx_operator("TfIdfVectorizer", since=9)
class TfIdfVectorizer(SchemaAttributes):
    """Float32 rows of max(ngram_indexes) + 1 counts: of shape [D] for tokens [C], [N, D] for [N, C].

    An n-gram may skip 0 ... max_skip_count tokens between two of its own, the same number everywhere; single tokens are
    counted once. TF gives counts, IDF the weight of what occurs, TFIDF weight times count.
    """

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
