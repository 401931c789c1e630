"""Features of ai.onnx.ml: scaled, normalised, filled in, selected and put side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.operators.ml_scores import DOMAIN
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def array_feature_extractor(x: Any, indices: Any) -> Any:
    """The columns of x at the given places, of a vector as one row."""
    chosen = np.asarray(indices).reshape(-1)
    if np.ndim(x) < 1 or np.any((chosen < 0) | (chosen >= np.shape(x)[-1])):
        raise ShapeError(f"columns of shape {np.shape(x)}", where="ArrayFeatureExtractor", why="a column does not exist")
    return np.atleast_2d(np.take(x, chosen, axis=-1))


def binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    """1 where x is above the threshold, else 0, in the type of x."""
    return (np.asarray(x) > threshold).astype(x.dtype)


def feature_vectorizer(*features: Any, inputdimensions: Sequence[int] = ()) -> Any:
    """The columns of all operands [N, ...] side by side in float32; vectors are single rows."""
    rows = [np.asarray(one, np.float32) for one in features]
    rows = [one[None] if one.ndim == 1 else one.reshape(len(one), -1) for one in rows if one.ndim]
    if len(rows) != len(features) or len({len(one) for one in rows}) != 1:
        raise ShapeError(f"features of shapes {[np.shape(one) for one in features]}", where="FeatureVectorizer")
    return np.concatenate(rows, axis=1)


def imputer(
    x: Any,
    *,
    imputed_value_floats: Sequence[float] = (),
    imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Any:
    """x with one value (NaN, too) replaced, by one other or by one for every column."""
    is_real = np.issubdtype(x.dtype, np.floating)
    filling = np.array(imputed_value_floats if is_real else imputed_value_int64s, x.dtype)
    if len(filling) not in (1, np.shape(x)[-1] if np.ndim(x) else 1):
        raise ShapeError(f"{len(filling)} values for shape {np.shape(x)}", where="Imputer")
    sought = x.dtype.type(replaced_value_float if is_real else replaced_value_int64)
    return np.where(np.isnan(x) if np.isnan(sought) else x == sought, filling, x)


def normalizer(x: Any, *, norm: str = "MAX") -> Any:
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


def scaler(x: Any, *, offset: Sequence[float] = (), scale: Sequence[float] = ()) -> Any:
    """(x - offset) * scale in float32, for all columns or for each its own."""
    return (np.asarray(x, np.float32) - _columns(offset, np.shape(x), 0.0)) * _columns(scale, np.shape(x), 1.0)


def lower_scaler(builder: Builder, x: Tensor, *, offset: Sequence[float] = (), scale: Sequence[float] = ()) -> Tensor:
    """Two maps."""
    moved = builder.map("subtract", builder.cast(x, "float32"), builder.constant(_columns(offset, x.shape, 0.0)))
    return builder.map("multiply", moved, builder.constant(_columns(scale, x.shape, 1.0)))


def _columns(values: Sequence[float], shape: Any, default: float) -> Any:
    if len(values) > 1 and (not shape or shape[-1] != len(values)):
        raise ShapeError(f"{len(values)} numbers for columns of shape {tuple(shape)}", where="Scaler")
    return np.array(list(values) or [default], np.float32)


define("ArrayFeatureExtractor", array_feature_extractor, domain=DOMAIN)
define("Binarizer", binarizer, domain=DOMAIN)
define("FeatureVectorizer", feature_vectorizer, domain=DOMAIN)
define("Imputer", imputer, domain=DOMAIN)
define("Normalizer", normalizer, domain=DOMAIN)
define("Scaler", scaler, lower_scaler, domain=DOMAIN)
