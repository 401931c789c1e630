"""Numbers in the place of operands whose values do not change what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tilewright.graph.types import Extent
from tilewright.runtime.arrays import Array

FLOATS = ("float16", "bfloat16", "float32", "float64")


def drawn(source: np.random.Generator, shape: Iterable[Extent], dtype: np.dtype[Any]) -> Array:
    """Normal numbers over the square root of the last extent, so that sums stay near 1, and truth values; 0 of other types.

    Whole numbers may be positions, of which 0 is always in range. Raises `TypeError` for extents that are not known.
    """
    known = tuple(int(extent) for extent in shape)  # type: ignore[arg-type]
    if dtype == np.bool_:
        return source.random(known) < 0.5
    if dtype.name not in FLOATS:
        return np.zeros(known, dtype)
    values = source.standard_normal(known, np.float32) / np.float32(np.sqrt(max(1, *known[-1:])))
    return values.astype(dtype, copy=False)
