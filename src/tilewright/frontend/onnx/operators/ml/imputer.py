"""Imputer: a value that stands for a missing element, replaced."""

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


define("Imputer", Imputer, domain=DOMAIN)
