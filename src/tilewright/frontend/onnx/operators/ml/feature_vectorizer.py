"""FeatureVectorizer: the columns of several matrices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
)


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


define("FeatureVectorizer", FeatureVectorizer, domain=DOMAIN)
