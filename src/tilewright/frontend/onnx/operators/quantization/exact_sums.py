"""How large sums of products of bytes may be: those that are scaled or rounded behind must not wrap, however long they are.

A byte less a zero point of its type lies within 255 of 0: int32 holds all sums of 33,025 products, and longer ones where constant
weights keep them small. All others are added in int64. MatMulInteger and ConvInteger give int32 and wrap: ONNX lets their sums
overflow 32 bits.
"""

from __future__ import annotations

from math import inf
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import Undecided, UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import BYTES
from tilewright.graph.extents import cuts_between, largest_extent, least_extent
from tilewright.graph.types import Extent, Tensor

Operand: TypeAlias = tuple[Tensor, Tensor | None]
"""Bytes and their zero point."""

LARGEST = 2**31 - 1
"""Of int32."""


def largest_factor(builder: Builder, operand: Operand) -> int:
    """The largest magnitude of a byte of a type less its zero point, whose values may be known.

    Raises `UnsupportedOperation` for other types.

    >>> builder = Builder("f")
    >>> largest_factor(builder, (builder.input("x", (3,), "uint8"), builder.constant(np.uint8(100), "zero")))
    155
    """
    tensor, zero = operand
    if tensor.dtype not in BYTES:
        raise UnsupportedOperation(f"a product of {tensor.dtype} has no lowering", why="bytes are multiplied as integers")
    limits, zeros = np.iinfo(tensor.dtype), np.zeros(1, np.int32) if zero is None else builder.known.get(zero.name)
    if zeros is None or not zeros.size:
        return int(limits.max) - int(limits.min)
    return max(int(limits.max) - int(zeros.min()), int(zeros.max()) - int(limits.min))


def largest_sum(builder: Builder, left: Operand, right: Operand, steps: int, summed: tuple[int, ...], along: int) -> float:
    """An upper bound on the magnitude of a sum of so many products, by the values of `right` where they are constants.

    `summed` are the dimensions of `right` that are summed, `along` is that with a zero point each, where it has a vector of them.

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (2, 70000), "uint8"), builder.constant(np.ones((70000, 3), np.int8))
    >>> [largest_sum(builder, (x, None), (right, None), 70000, (0,), 1) for right in (w, x)]
    [17850000, 4551750000]
    """
    factor, (tensor, zero) = largest_factor(builder, left), right
    most = factor * largest_factor(builder, right) * steps
    values = builder.known.get(tensor.name)
    zeros = np.zeros((), np.int32) if zero is None else builder.known.get(zero.name)
    if most <= LARGEST or values is None or zeros is None:
        return most
    shape = [-1 if dimension == along % values.ndim else 1 for dimension in range(values.ndim)]
    numbers = zeros.reshape(shape) if zeros.ndim == 1 and zeros.size > 1 else zeros
    centred = np.abs(values.astype(np.int32) - numbers.astype(np.int32))
    return factor * int(centred.sum(axis=summed, dtype=np.int64).max(initial=0))


def are_at_most(steps: Extent, most: int) -> bool:
    """Whether there are at most so many steps. Raises `Undecided` for a run-time number whose range can be divided there."""
    if isinstance(steps, int) or largest_extent(steps) <= most or least_extent(steps) > most:
        return largest_extent(steps) <= most
    cuts = cuts_between(steps, most, "<=")
    if cuts:
        raise Undecided(f"whether {steps} int8 products are at most {most}", where="quantised product").with_cuts(cuts)
    return False


def with_bias(builder: Builder, sums: Tensor, largest: float, bias: Tensor, spread: Tensor) -> Tensor:
    """Sums up to a largest magnitude plus a bias of int32, in a type that holds all results.

    `spread` is the bias as it broadcasts. One whose values are not known may be any numbers of its type.
    """
    values = builder.known.get(bias.name)
    size: Any = inf if values is None else np.abs(values.astype(np.int64)).max(initial=0)
    return builder.map("add", sums, spread, dtype="int64" if largest + size > LARGEST else sums.dtype)
