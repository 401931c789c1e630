"""Features: columns chosen, put side by side, moved, scaled, binarized, normalized, filled in; categories as rows of 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import DOMAIN, labels_of
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


class ArrayFeatureExtractor:
    """The columns of x at the given places, of a vector as one row."""

    def reference(self, x: Any, indices: Any) -> Any:
        chosen = np.asarray(indices).reshape(-1)
        if np.ndim(x) < 1 or np.any((chosen < 0) | (chosen >= np.shape(x)[-1])):
            raise ShapeError(f"columns of shape {np.shape(x)}", where="ArrayFeatureExtractor", why="a column does not exist")
        return np.atleast_2d(np.take(x, chosen, axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVectorizer:
    """The columns of all operands [N, ...] side by side in float32; vectors are single rows."""

    inputdimensions: Sequence[int] = ()

    def reference(self, *features: Any) -> Any:
        rows = [np.asarray(feature, np.float32) for feature in features]
        rows = [row[None] if row.ndim == 1 else row.reshape(len(row), -1) for row in rows if row.ndim]
        if len(rows) != len(features) or len({len(row) for row in rows}) != 1:
            raise ShapeError(f"features of shapes {[np.shape(feature) for feature in features]}", where="FeatureVectorizer")
        return np.concatenate(rows, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binarizer:
    """1 where x is above the threshold, else 0, in the type of x."""

    threshold: float = 0.0

    def reference(self, x: Any) -> Any:
        return (np.asarray(x) > self.threshold).astype(x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imputer:
    """x with one value (NaN, too) replaced, by one other or by one for every column."""

    imputed_value_floats: Sequence[float] = ()
    imputed_value_int64s: Sequence[int] = ()
    replaced_value_float: float = 0.0
    replaced_value_int64: int = 0

    def reference(self, x: Any) -> Any:
        is_real = np.issubdtype(x.dtype, np.floating)
        filling = np.array(self.imputed_value_floats if is_real else self.imputed_value_int64s, x.dtype)
        if len(filling) not in (1, np.shape(x)[-1] if np.ndim(x) else 1):
            raise ShapeError(f"{len(filling)} values for shape {np.shape(x)}", where="Imputer")
        sought = x.dtype.type(self.replaced_value_float if is_real else self.replaced_value_int64)
        return np.where(np.isnan(x) if np.isnan(sought) else x == sought, filling, x)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalizer:
    """Rows over their largest element (MAX), the sum of their absolute values (L1) or their length (L2); float32."""

    norm: str = "MAX"

    def reference(self, x: Any) -> Any:
        x = np.asarray(x, np.float32)
        norms: dict[str, Callable[..., Any]] = {
            "MAX": np.max,
            "L1": lambda a, **k: np.abs(a).sum(**k),
            "L2": lambda a, **k: np.sqrt(np.square(a).sum(**k)),
        }
        if self.norm not in norms or not x.ndim:
            raise UnsupportedOperation(f"norm {self.norm!r}", where="Normalizer", hint=f"choose from {', '.join(norms)}")
        size = norms[self.norm](x, axis=-1, keepdims=True)
        return x / np.where(size == 0, 1, size).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHotEncoder:
    """A new last dimension with 1 at an element's category, 0 elsewhere; unknown ones are all 0, or refused without `zeros`."""

    cats_int64s: Sequence[int] = ()
    cats_strings: Sequence[str] = ()
    zeros: int = 1

    def reference(self, x: Any) -> Any:
        categories = labels_of(self.cats_int64s, self.cats_strings, "OneHotEncoder")
        elements = np.asarray(x) if len(self.cats_strings) else np.asarray(x).astype(np.int64)
        check_size((*elements.shape, len(categories)), "OneHotEncoder")
        encoded = (elements[..., None] == categories).astype(np.float32)
        if not self.zeros and not encoded.any(axis=-1).all():
            raise ShapeError("an element is in no category", where="OneHotEncoder")
        return encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaler:
    """(x - offset) * scale in float32, for all columns or for each its own."""

    offset: Sequence[float] = ()
    scale: Sequence[float] = ()

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


define("ArrayFeatureExtractor", ArrayFeatureExtractor, domain=DOMAIN)
define("FeatureVectorizer", FeatureVectorizer, domain=DOMAIN)
define("Binarizer", Binarizer, domain=DOMAIN)
define("Imputer", Imputer, domain=DOMAIN)
define("Normalizer", Normalizer, domain=DOMAIN)
define("OneHotEncoder", OneHotEncoder, domain=DOMAIN)
define("Scaler", Scaler, domain=DOMAIN)
