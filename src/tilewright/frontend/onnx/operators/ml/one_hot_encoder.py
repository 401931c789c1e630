"""OneHotEncoder: categories as rows of zeros and a single 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
    labels_of,
)
from tilewright.frontend.onnx.sizes import check_size


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


define("OneHotEncoder", OneHotEncoder, domain=DOMAIN)
