"""Encoders of ai.onnx.ml: labels to other labels, to columns of zeros and ones, and dictionaries to vectors and back."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size
from tilewright.graph.operators.ml_scores import DOMAIN, labels_of


def label_encoder(
    x: Any,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Any = None,
    keys_floats: Sequence[float] = (),
    keys_int64s: Sequence[int] = (),
    keys_strings: Sequence[str] = (),
    keys_tensor: Any = None,
    values_floats: Sequence[float] = (),
    values_int64s: Sequence[int] = (),
    values_strings: Sequence[str] = (),
    values_tensor: Any = None,
) -> Any:
    """The value of every element's key, or a default; the last of equal keys counts, and NaN is equal to NaN."""
    keys = keys_tensor if keys_tensor is not None else [*keys_floats, *keys_int64s, *keys_strings]
    if values_tensor is not None:
        values, default = np.asarray(values_tensor), default_tensor
        usual: Any = "_Unused" if values.dtype == object else -1 if values.dtype.kind in "iu" else -0.0
        default = usual if default is None else np.asarray(default).item()
    else:
        kinds = (
            (values_strings, object, default_string),
            (values_int64s, np.int64, default_int64),
            (values_floats, np.float32, default_float),
        )
        chosen, kind, default = next((one for one in kinds if len(one[0])), kinds[2])
        values = np.array(chosen, kind)
    return _looked_up(x, np.asarray(keys).tolist(), values, default, "LabelEncoder")


def class_encoder(
    x: Any, *, classes_strings: Sequence[str] = (), default_int64: int = -1, default_string: str = "_Unused"
) -> Any:
    """The first version: strings to their places in a list, places to strings."""
    return category_mapper(
        x,
        cats_int64s=range(len(classes_strings)),
        cats_strings=classes_strings,
        default_int64=default_int64,
        default_string=default_string,
    )


def category_mapper(
    x: Any,
    *,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Any:
    """Strings to integers, integers to strings."""
    integers, strings = np.array(cats_int64s, np.int64), np.array(list(cats_strings), object)
    if np.asarray(x).dtype == object:
        return _looked_up(x, strings.tolist(), integers, default_int64, "CategoryMapper")
    return _looked_up(x, integers.tolist(), strings, default_string, "CategoryMapper")


def one_hot_encoder(x: Any, *, cats_int64s: Sequence[int] = (), cats_strings: Sequence[str] = (), zeros: int = 1) -> Any:
    """A new last dimension with 1 at an element's category, 0 elsewhere; unknown ones are all 0, or refused without `zeros`."""
    categories = labels_of(cats_int64s, cats_strings, "OneHotEncoder")
    elements = np.asarray(x) if len(cats_strings) else np.asarray(x).astype(np.int64)
    check_size((*elements.shape, len(categories)), "OneHotEncoder")
    ones = (elements[..., None] == categories).astype(np.float32)
    if not zeros and not ones.any(axis=-1).all():
        raise ShapeError("an element is in no category", where="OneHotEncoder")
    return ones


def dict_vectorizer(x: Any, *, int64_vocabulary: Sequence[int] = (), string_vocabulary: Sequence[str] = ()) -> Any:
    """[1, C] of a dictionary's values in the order of the vocabulary, 0 (or "") for words that it lacks."""
    words = labels_of(int64_vocabulary, string_vocabulary, "DictVectorizer").tolist()
    values = _dictionary(x, "DictVectorizer")
    kind = np.asarray(list(values.values())).dtype if values else np.dtype(np.float32)
    nothing = "" if kind.kind in "OU" else 0
    return np.array([[values.get(word, nothing) for word in words]], object if kind.kind in "OU" else kind)


def cast_map(x: Any, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1) -> Any:
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


def zip_map(x: Any, *, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = ()) -> Any:
    """A list of one dictionary for every row of x [N, C], from the labels to the row's numbers."""
    labels = labels_of(classlabels_int64s, classlabels_strings, "ZipMap").tolist()
    rows = np.atleast_2d(x)
    if rows.ndim != 2 or rows.shape[1] != len(labels):
        raise ShapeError(f"{len(labels)} labels for shape {np.shape(x)}", where="ZipMap")
    return [dict(zip(labels, row.tolist(), strict=True)) for row in rows]


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


def _dictionary(x: Any, where: str) -> dict[Any, Any]:
    if not isinstance(x, dict):
        raise DTypeError(f"{type(x).__name__} is no dictionary", where=where)
    return x


define("LabelEncoder", class_encoder, domain=DOMAIN)
define("LabelEncoder", label_encoder, since=2, domain=DOMAIN)
define("CategoryMapper", category_mapper, domain=DOMAIN)
define("OneHotEncoder", one_hot_encoder, domain=DOMAIN)
define("DictVectorizer", dict_vectorizer, domain=DOMAIN)
define("CastMap", cast_map, domain=DOMAIN)
define("ZipMap", zip_map, domain=DOMAIN)
