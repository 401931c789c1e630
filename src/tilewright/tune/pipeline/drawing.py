"""Numbers in the place of operands whose values do not change what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tilewright.graph.types import Extent, Tensor
from tilewright.runtime.arrays import Array, dtype_named

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


def drawn_factors(source: np.random.Generator, tensor: Tensor) -> Array:
    """Integers of at most 16 bits that products read: of the whole range of their type, or within what is known of their size.

    Any two together stay below what is known of two neighbours, so that kernels are exact that were proved to be.
    Raises `TypeError` for extents that are not known.
    """
    limits, known = np.iinfo(tensor.dtype), tensor.magnitudes
    most = limits.max - limits.min if known is None else min((known.largest, *(pair // 2 for pair in known.pairs)))
    lowest, highest = max(limits.min, -most), min(limits.max, most)
    shape = tuple(int(extent) for extent in tensor.shape)  # type: ignore[arg-type]
    return source.integers(lowest, highest, shape, dtype_named(tensor.dtype), endpoint=True)
