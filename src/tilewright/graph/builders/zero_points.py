"""Products of integers less their zero points: how operators say it, how it is read back, and how large sums are.

A factor of a product is an element, or an element less that of another read, which is the same at all steps of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.index import constant
from tilewright.graph.expressions.scalar import Apply, Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Operator, Tensor

LARGEST_INT32 = 2**31 - 1
LARGEST_CENTRED = 255
"""Of the magnitude of a byte less another one of its type."""


def centred(number: int, zero: int | None) -> Scalar:
    """The element of a read, less that of another one, if there is one."""
    return Load(number) if zero is None else apply("subtract", Load(number), Load(zero))


def centred_reads(factor: Scalar) -> tuple[int, int | None] | None:
    """The reads of such an expression; None for any other.

    >>> centred_reads(centred(0, 2)), centred_reads(centred(1, None)), centred_reads(apply("negative", Load(0)))
    ((0, 2), (1, None), None)
    """
    match factor:
        case Load(number):
            return number, None
        case Apply("subtract", (Load(number), Load(zero))):
            return number, zero
    return None


def with_zero_points(operator: Operator, zeros: Sequence[Access | None], accumulator: str) -> Operator:
    """A sum of products of integers, of which each is less the element of another read, if there is one."""
    reads, factors = list(operator.reads), list[Scalar]()
    for place, zero in enumerate(zeros):
        factors.append(centred(place, None if zero is None else len(reads)))
        reads += [] if zero is None else [zero]
    return replace(operator, reads=tuple(reads), body=apply("multiply", *factors), accumulator=accumulator)


def zero_read(operator: Operator, place: int, tensor: Tensor, zero: Tensor | None, first: int | None = None) -> Access | None:
    """The zero point that belongs to an element of an operand: one number, or one for each index of some dimensions.

    These are the last ones, or those from `first` on. Raises `ShapeError` for others, and for dimensions that are summed.
    """
    if zero is None:
        return None
    rank, summed = len(zero.shape), {axis.name for axis in operator.reduction_axes()}
    if set(zero.shape) <= {1}:
        return Access(zero.name, (constant(0),) * rank)
    start = len(tensor.shape) - rank if first is None else first
    along = list(zip(tensor.shape, operator.reads[place].indices, strict=True))[max(start, 0) : start + rank]
    pairs = list(zip(zero.shape, along, strict=False))
    fits = all(extent == 1 or (extent == whole and not index.axes() & summed) for extent, (whole, index) in pairs)
    if len(along) != rank or not fits:
        text = f"a zero point of shape {shape_text(zero.shape)} for an operand of {shape_text(tensor.shape)}"
        why = "it is one number, or one for each row, column or filter: the same along summed dimensions"
        raise ShapeError(text, where=f"integer {operator.kind}", why=why)
    return Access(zero.name, tuple(constant(0) if extent == 1 else index for extent, (_, index) in pairs))


def largest_centred(dtype: str, zeros: np.ndarray | None) -> int:
    """The largest magnitude of an integer of a type less its zero point, whose values may be known.

    >>> largest_centred("uint8", np.array(100, np.uint8)), largest_centred("int8", None)
    (155, 255)
    """
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if zeros is None or not zeros.size else (zeros.min(), zeros.max())
    return max(int(limits.max) - int(low), int(high) - int(limits.min))


def are_exact_in_float32(steps: int, bias: float = 0.0) -> bool:
    """Whether float32 computes every sum of so many products of bytes exactly, with a bias of that magnitude.

    Each is within 255 * 255, and float32 holds every whole number up to 2^24: all partial sums, in any order, of 258 products, or
    of 25 with a bias up to 15,151,591.

    >>> are_exact_in_float32(258), are_exact_in_float32(259), are_exact_in_float32(25, 15_151_591.0)
    (True, False, True)
    """
    return steps * LARGEST_CENTRED**2 + bias <= LARGEST_WHOLE
