"""Features: columns chosen, put side by side, moved, scaled, binarized, normalized, filled in; categories as rows of 0 and 1.

Encoders: keys as values (LabelEncoder, CategoryMapper), dictionaries as vectors, and vectors as dictionaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.ml.linear import DOMAIN, labels_of
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@onnx_function("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(x: Any, indices: Any) -> Any:
    """The columns of x at the given places, of a vector as one row."""
    chosen = np.asarray(indices).reshape(-1)
    if np.ndim(x) < 1 or np.any((chosen < 0) | (chosen >= np.shape(x)[-1])):
        raise ShapeError(f"columns of shape {np.shape(x)}", where="ArrayFeatureExtractor", why="a column does not exist")
    return np.atleast_2d(np.take(x, chosen, axis=-1))


@onnx_function("FeatureVectorizer", domain=DOMAIN)
def feature_vectorizer(*features: Any) -> Any:
    """The columns of all operands [N, ...] side by side in float32; vectors are single rows."""
    rows = [np.asarray(feature, np.float32) for feature in features]
    rows = [row[None] if row.ndim == 1 else row.reshape(len(row), -1) for row in rows if row.ndim]
    if len(rows) != len(features) or len({len(row) for row in rows}) != 1:
        raise ShapeError(f"features of shapes {[np.shape(feature) for feature in features]}", where="FeatureVectorizer")
    return np.concatenate(rows, axis=1)


@onnx_function("Binarizer", domain=DOMAIN)
def binarizer(x: Any, *, threshold: Any) -> Any:
    """1 where x is above the threshold, else 0, in the type of x."""
    return (np.asarray(x) > threshold).astype(x.dtype)


@onnx_operator("Imputer", domain=DOMAIN)
class Imputer(SchemaAttributes):
    """x with one value (NaN, too) replaced, by one other or by one for every column."""

    def reference(self, x: Any) -> Any:
        is_real = np.issubdtype(x.dtype, np.floating)
        filling = np.array(self.imputed_value_floats if is_real else self.imputed_value_int64s, x.dtype)
        if len(filling) not in (1, np.shape(x)[-1] if np.ndim(x) else 1):
            raise ShapeError(f"{len(filling)} values for shape {np.shape(x)}", where="Imputer")
        sought = x.dtype.type(self.replaced_value_float if is_real else self.replaced_value_int64)
        return np.where(np.isnan(x) if np.isnan(sought) else x == sought, filling, x)


@onnx_function("Normalizer", domain=DOMAIN)
def normalizer(x: Any, *, norm: Any) -> Any:
    """Rows over their largest element (MAX), the sum of their absolute values (L1) or their length (L2); float32."""
    x = np.asarray(x, np.float32)
    norms: dict[str, Callable[..., Any]] = {
        "MAX": np.max,
        "L1": lambda a, **k: np.abs(a).sum(**k),
        "L2": lambda a, **k: np.sqrt(np.square(a).sum(**k)),
    }
    if norm not in norms or not x.ndim:
        raise UnsupportedOperation(f"norm {norm!r}", where="Normalizer", hint=f"choose from {', '.join(norms)}")
    size = norms[norm](x, axis=-1, keepdims=True)
    return x / np.where(size == 0, 1, size).astype(np.float32)


@onnx_function("OneHotEncoder", domain=DOMAIN)
def one_hot_encoder(x: Any, *, cats_int64s: Any, cats_strings: Any, zeros: Any) -> Any:
    """A new last dimension with 1 at an element's category, 0 elsewhere; unknown ones are all 0, or refused without `zeros`."""
    categories = labels_of(cats_int64s, cats_strings, "OneHotEncoder")
    elements = np.asarray(x) if len(cats_strings) else np.asarray(x).astype(np.int64)
    check_size((*elements.shape, len(categories)), "OneHotEncoder")
    encoded = (elements[..., None] == categories).astype(np.float32)
    if not zeros and not encoded.any(axis=-1).all():
        raise ShapeError("an element is in no category", where="OneHotEncoder")
    return encoded


@onnx_operator("Scaler", domain=DOMAIN)
class Scaler(SchemaAttributes):
    """(x - offset) * scale in float32, for all columns or for each its own."""

    def reference(self, x: Any) -> Any:
        return (np.asarray(x, np.float32) - _columns(self.offset, np.shape(x), 0.0)) * _columns(self.scale, np.shape(x), 1.0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """Two maps."""
        moved = builder.map("subtract", builder.cast(x, "float32"), builder.constant(_columns(self.offset, x.shape, 0.0)))
        return builder.map("multiply", moved, builder.constant(_columns(self.scale, x.shape, 1.0)))


def _columns(values: Sequence[float], shape: Any, default: float) -> Any:
    if len(values) > 1 and (not shape or shape[-1] != len(values)):
        raise ShapeError(f"{len(values)} numbers for columns of shape {tuple(shape)}", where="Scaler")
    return np.array(list(values) or [default], np.float32)


@onnx_operator("LabelEncoder", since=2, domain=DOMAIN)
class LabelEncoder(SchemaAttributes):
    """The value of every element's key, or a default; the last of equal keys counts, and NaN is equal to NaN."""

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


@onnx_function("LabelEncoder", domain=DOMAIN)
def label_encoder_before_2(x: Any, *, classes_strings: Any, default_int64: Any, default_string: Any) -> Any:
    """The first version: strings to their places in a list, places to strings."""
    return _mapped(x, range(len(classes_strings)), classes_strings, default_int64, default_string, "LabelEncoder")


@onnx_function("CategoryMapper", domain=DOMAIN)
def category_mapper(x: Any, *, cats_int64s: Any, cats_strings: Any, default_int64: Any, default_string: Any) -> Any:
    """Strings to integers, integers to strings."""
    return _mapped(x, cats_int64s, cats_strings, default_int64, default_string, "CategoryMapper")


def _mapped(x: Any, integers: Sequence[int], strings: Sequence[str], integer: int, text: str, where: str) -> Any:
    """Strings as the integers at their places, or integers as the strings; others as a usual integer or text."""
    if np.asarray(x).dtype == object:
        return _looked_up(x, strings, np.array(integers, np.int64), integer, where)
    return _looked_up(x, integers, np.array(list(strings), object), text, where)


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


@onnx_function("DictVectorizer", domain=DOMAIN)
def dict_vectorizer(x: Any, *, int64_vocabulary: Any, string_vocabulary: Any) -> Any:
    """[1, C] of a dictionary's values in the order of the vocabulary, 0 (or "") for words that it lacks."""
    words = labels_of(int64_vocabulary, string_vocabulary, "DictVectorizer").tolist()
    values = _dictionary(x, "DictVectorizer")
    kind = np.asarray(list(values.values())).dtype if values else np.dtype(np.float32)
    nothing = "" if kind.kind in "OU" else 0
    return np.array([[values.get(word, nothing) for word in words]], object if kind.kind in "OU" else kind)


@onnx_function("CastMap", domain=DOMAIN)
def cast_map(x: Any, *, cast_to: Any, map_form: Any, max_map: Any) -> Any:
    """[1, C] of a dictionary's values: by increasing keys (DENSE), or each at the place that its key is (SPARSE)."""
    kinds: Mapping[str, Any] = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": object}
    if cast_to not in kinds or map_form not in ("DENSE", "SPARSE"):
        raise DTypeError(f"cast_to {cast_to!r} or map_form {map_form!r} is unknown", where="CastMap")
    values = dict(sorted(_dictionary(x, "CastMap").items()))
    if map_form == "SPARSE":
        if any(not 0 <= key < max_map for key in values):
            raise ShapeError(f"a key is outside 0..{max_map - 1}", where="CastMap")
        (count,) = check_size((max_map,), "CastMap")
        nothing = "" if cast_to == "TO_STRING" else 0
        values = {key: values.get(key, nothing) for key in range(count)}
    convert = str if cast_to == "TO_STRING" else float
    return np.array([[convert(value) for value in values.values()]], object).astype(kinds[cast_to])


@onnx_function("ZipMap", domain=DOMAIN)
def zip_map(x: Any, *, classlabels_int64s: Any, classlabels_strings: Any) -> Any:
    """A list of one dictionary for every row of x [N, C], from the labels to the row's numbers."""
    labels = labels_of(classlabels_int64s, classlabels_strings, "ZipMap").tolist()
    rows = np.atleast_2d(x)
    if rows.ndim != 2 or rows.shape[1] != len(labels):
        raise ShapeError(f"{len(labels)} labels for shape {np.shape(x)}", where="ZipMap")
    return [dict(zip(labels, row.tolist(), strict=True)) for row in rows]


def _dictionary(x: Any, where: str) -> dict[Any, Any]:
    if not isinstance(x, dict):
        raise DTypeError(f"{type(x).__name__} is no dictionary", where=where)
    return x
