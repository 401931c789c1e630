"""LabelEncoder, CategoryMapper, DictVectorizer, CastMap, ZipMap: keys as values, dictionaries as vectors and back."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import DOMAIN, labels_of
from tilewright.frontend.onnx.sizes import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEncoder:
    """The value of every element's key, or a default; the last of equal keys counts, and NaN is equal to NaN."""

    default_float: float = -0.0
    default_int64: int = -1
    default_string: str = "_Unused"
    default_tensor: Any = None
    keys_floats: Sequence[float] = ()
    keys_int64s: Sequence[int] = ()
    keys_strings: Sequence[str] = ()
    keys_tensor: Any = None
    values_floats: Sequence[float] = ()
    values_int64s: Sequence[int] = ()
    values_strings: Sequence[str] = ()
    values_tensor: Any = None

    def reference(self, x: Any) -> Any:
        keys = self.keys_tensor if self.keys_tensor is not None else [*self.keys_floats, *self.keys_int64s, *self.keys_strings]
        return _looked_up(x, np.asarray(keys).tolist(), *self._values_and_default(), "LabelEncoder")

    def _values_and_default(self) -> tuple[Any, Any]:
        if self.values_tensor is not None:
            values = np.asarray(self.values_tensor)
            usual: Any = "_Unused" if values.dtype == object else -1 if values.dtype.kind in "iu" else -0.0
            return values, usual if self.default_tensor is None else np.asarray(self.default_tensor).item()
        kinds = (
            (self.values_strings, object, self.default_string),
            (self.values_int64s, np.int64, self.default_int64),
            (self.values_floats, np.float32, self.default_float),
        )
        chosen, kind, default = next((values for values in kinds if len(values[0])), kinds[2])
        return np.array(chosen, kind), default


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEncoderBefore2:
    """The first version: strings to their places in a list, places to strings."""

    classes_strings: Sequence[str] = ()
    default_int64: int = -1
    default_string: str = "_Unused"

    def reference(self, x: Any) -> Any:
        mapper = CategoryMapper(
            cats_int64s=range(len(self.classes_strings)),
            cats_strings=self.classes_strings,
            default_int64=self.default_int64,
            default_string=self.default_string,
        )
        return mapper.reference(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMapper:
    """Strings to integers, integers to strings."""

    cats_int64s: Sequence[int] = ()
    cats_strings: Sequence[str] = ()
    default_int64: int = -1
    default_string: str = "_Unused"

    def reference(self, x: Any) -> Any:
        integers, strings = np.array(self.cats_int64s, np.int64), np.array(list(self.cats_strings), object)
        if np.asarray(x).dtype == object:
            return _looked_up(x, strings.tolist(), integers, self.default_int64, "CategoryMapper")
        return _looked_up(x, integers.tolist(), strings, self.default_string, "CategoryMapper")


def _looked_up(x: Any, keys: Sequence[Any], values: Any, default: Any, where: str) -> Any:
    if len(keys) != len(values):
        raise ShapeError(f"{len(keys)} keys and {len(values)} values", where=where)
    table = dict(zip(map(_key, keys), values.tolist(), strict=True))
    found = [table.get(_key(element), default) for element in np.asarray(x).reshape(-1).tolist()]
    return np.array(found, values.dtype).reshape(np.shape(x))


def _key(element: Any) -> Hashable:
    """What an element is looked up by: float32, as keys are stored, and one thing for all NaN."""
    if not isinstance(element, float):
        return str(element) if isinstance(element, str) else int(element)
    return "NaN of any bits" if math.isnan(element) else float(np.float32(element))


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


define("LabelEncoder", LabelEncoderBefore2, domain=DOMAIN)
define("LabelEncoder", LabelEncoder, since=2, domain=DOMAIN)
define("CategoryMapper", CategoryMapper, domain=DOMAIN)
define("DictVectorizer", DictVectorizer, domain=DOMAIN)
define("CastMap", CastMap, domain=DOMAIN)
define("ZipMap", ZipMap, domain=DOMAIN)
