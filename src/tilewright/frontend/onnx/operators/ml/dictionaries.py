"""DictVectorizer, CastMap, ZipMap: dictionaries as vectors, and vectors as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
    labels_of,
)
from tilewright.frontend.onnx.sizes import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class DictVectorizer:
    """[1, C] of a dictionary's values in the order of the vocabulary, 0 (or "") for words that it lacks."""

    int64_vocabulary: Sequence[int] = ()
    string_vocabulary: Sequence[str] = ()

    def reference(self, x: Any) -> Any:
        words = labels_of(self.int64_vocabulary, self.string_vocabulary, "DictVectorizer").tolist()
        values = _dictionary(x, "DictVectorizer")
        kind = np.asarray(list(values.values())).dtype if values else np.dtype(np.float32)
        nothing = "" if kind.kind in "OU" else 0
        return np.array([[values.get(word, nothing) for word in words]], object if kind.kind in "OU" else kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class CastMap:
    """[1, C] of a dictionary's values: by increasing keys (DENSE), or each at the place that its key is (SPARSE)."""

    cast_to: str = "TO_FLOAT"
    map_form: str = "DENSE"
    max_map: int = 1

    def reference(self, x: Any) -> Any:
        kinds: Mapping[str, Any] = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": object}
        if self.cast_to not in kinds or self.map_form not in ("DENSE", "SPARSE"):
            raise DTypeError(f"cast_to {self.cast_to!r} or map_form {self.map_form!r} is unknown", where="CastMap")
        values = dict(sorted(_dictionary(x, "CastMap").items()))
        if self.map_form == "SPARSE":
            if any(not 0 <= key < self.max_map for key in values):
                raise ShapeError(f"a key is outside 0..{self.max_map - 1}", where="CastMap")
            (count,) = check_size((self.max_map,), "CastMap")
            nothing = "" if self.cast_to == "TO_STRING" else 0
            values = {key: values.get(key, nothing) for key in range(count)}
        convert = str if self.cast_to == "TO_STRING" else float
        return np.array([[convert(value) for value in values.values()]], object).astype(kinds[self.cast_to])


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipMap:
    """A list of one dictionary for every row of x [N, C], from the labels to the row's numbers."""

    classlabels_int64s: Sequence[int] = ()
    classlabels_strings: Sequence[str] = ()

    def reference(self, x: Any) -> Any:
        labels = labels_of(self.classlabels_int64s, self.classlabels_strings, "ZipMap").tolist()
        rows = np.atleast_2d(x)
        if rows.ndim != 2 or rows.shape[1] != len(labels):
            raise ShapeError(f"{len(labels)} labels for shape {np.shape(x)}", where="ZipMap")
        return [dict(zip(labels, row.tolist(), strict=True)) for row in rows]


def _dictionary(x: Any, where: str) -> dict[Any, Any]:
    if not isinstance(x, dict):
        raise DTypeError(f"{type(x).__name__} is no dictionary", where=where)
    return x


define("DictVectorizer", DictVectorizer, domain=DOMAIN)
define("CastMap", CastMap, domain=DOMAIN)
define("ZipMap", ZipMap, domain=DOMAIN)
