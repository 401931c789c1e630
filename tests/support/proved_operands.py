"""Operands that a micro kernel whose sums saturate may be given: as close to its limit as its declaration allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.kernels import MicroKernel

Array = np.ndarray[Any, Any]


def largest_pair(kernel: MicroKernel) -> int:
    """What two neighbours of one sign may add up to in the operand that is bounded."""
    assert kernel.saturation is not None
    other = kernel.element_types[1 if kernel.saturation.bounded == "left" else 0]
    limits = np.iinfo(other)
    return kernel.saturation.limit // max(limits.max, -limits.min)


def within_proof(kernel: MicroKernel, a: Array, b: Array) -> tuple[Array, Array]:
    """Operands (m, k) and (k, n), of which the bounded one is cut down where two neighbours are too large together.

    Rows of a left one may overlap in memory, so that any two elements of it can be neighbours.
    """
    if kernel.saturation is None:
        return a, b
    most = largest_pair(kernel)
    if kernel.saturation.bounded == "left":
        return np.clip(a, -(most // 2), most // 2).astype(a.dtype), b
    largest = kernel.saturation.largest or 128
    wide = np.clip(b.astype(np.int64), -largest, largest)
    first, second = wide[: len(wide) // 2 * 2 : 2], wide[1::2]
    positive, negative = np.maximum(first, 0), np.minimum(first, 0)
    wide[1::2] = np.clip(second, -most - negative, most - positive)
    return a, wide.astype(b.dtype)


def with_pairs_at_the_bound(kernel: MicroKernel, a: Array, b: Array) -> tuple[Array, Array]:
    """Operands of which all neighbours in the bounded one are as large together as allowed, with the signs that they had."""
    if kernel.saturation is None:
        return a, b
    most, (bounded, axis) = largest_pair(kernel), ((a, 1) if kernel.saturation.bounded == "left" else (b, 0))
    sizes = np.array([most - most // 2, most // 2])[np.arange(bounded.shape[axis]) % 2]
    sizes = np.minimum(sizes, kernel.saturation.largest or 128)
    pairs = (np.sign(bounded.astype(np.int64)) * (sizes if axis else sizes[:, None])).astype(bounded.dtype)
    return (pairs, b) if axis else (a, pairs)
