"""What is known of the values of constants.

Looking at the values of constants no further than needed: models have gigabytes of them.

How large the elements of a constant of short integers are, as far as planning may know: kernels whose sums saturate ask.

Planning looks at no values of large constants, so that equal layers share plans and caches. These bounds are all that it learns
of them. They are rounded up to a few steps, or every layer would have figures of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from tilewright.records import record

Array: TypeAlias = "np.ndarray[Any, Any]"

FEW = 64
"""So many elements may decide what is generated (scales, lengths); of more only masks do, and integers that all are 0."""
SAMPLES_PER_DIMENSION = 4
PIECE_ELEMENTS = 1 << 18
SMALLEST, LARGEST = 2.0**-55, 2.0**30
"""Products of two constants of such sizes, divided by the root of a third or not, are normal numbers of float32."""


def decide(array: Array) -> bool:
    """Whether planning and generated code may depend on these values: they are few, a mask, or zero points that are all 0.

    >>> decide(np.arange(64)), decide(np.arange(65)), decide(np.tri(9)), decide(np.zeros(100)), decide(np.tri(9) > 0)
    (True, False, False, True, True)
    >>> decide(np.zeros(100, np.int64)), decide(np.ones(100, np.int64))
    (True, False)
    """
    return array.size <= FEW or is_mask(array) or (array.dtype.kind in "iu" and not sample(array).any() and not array.any())


def is_mask(array: Array) -> bool:
    """Whether all elements are truth values, or 0 (with the sign +) and -inf.

    >>> is_mask(np.array([0, -np.inf])), is_mask(np.array([-0.0])), is_mask(np.array([0, 1]))
    (True, False, False)
    """
    if array.dtype.kind != "f":
        return bool(array.dtype == np.bool_)
    return _is_additive_mask(sample(array)) and _is_additive_mask(array)


def _is_additive_mask(array: Array) -> bool:
    through = array == 0
    return bool(np.all(through | (array == -np.inf))) and not np.signbit(array[through]).any()


def sample(array: Array) -> Array:
    """A few elements from everywhere."""
    return array[tuple(slice(None, None, max(1, extent // SAMPLES_PER_DIMENSION)) for extent in array.shape)]


def same_values(this: Array, that: Array) -> bool:
    """Whether type, shape and all bits are the same.

    >>> same_values(np.array([np.nan, 0.0]), np.array([np.nan, 0.0])), same_values(np.array([0.0]), np.array([-0.0]))
    (True, False)
    """
    if this is that:
        return True
    if this.dtype != that.dtype or this.shape != that.shape:
        return False
    if not np.array_equal(_bits(sample(this)), _bits(sample(that))):
        return False
    ours, theirs = _bits(this), _bits(that)
    pieces = range(0, len(ours), PIECE_ELEMENTS)
    return all(np.array_equal(ours[i : i + PIECE_ELEMENTS], theirs[i : i + PIECE_ELEMENTS]) for i in pieces)


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def can_change(array: Array) -> bool:
    """Whether somebody may write to the memory of an array through it or through what it is a view of.

    >>> fixed = np.frombuffer(b"1234", np.uint8)
    >>> can_change(fixed), can_change(fixed[1:]), can_change(fixed.copy())
    (False, False, True)
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return base is not None and not _is_fixed_buffer(base)


def _is_fixed_buffer(owner: object) -> bool:
    try:
        return memoryview(owner).readonly  # type: ignore[arg-type]
    except TypeError:
        return False


def is_moderate(array: Array) -> bool:
    """Whether all elements are 0 or of a size of 2^-55 to 2^30; integers always are.

    >>> [is_moderate(np.array(values, np.float32)) for values in ([0, 1e-9, -1e9], [1e25], [1, 1e-20], [np.nan])]
    [True, False, False, False]
    """
    if array.dtype.kind in "biu":
        return True
    flat = array.reshape(-1)
    return all(_is_moderate(flat[start : start + PIECE_ELEMENTS]) for start in range(0, flat.size, PIECE_ELEMENTS))


def _is_moderate(piece: Array) -> bool:
    sizes = np.abs(piece if piece.dtype.itemsize > 2 else piece.astype(np.float32))
    return bool(np.all((sizes <= LARGEST) & ((sizes >= SMALLEST) | (sizes == 0))))


TYPES = ("int8", "uint8", "int16")
ALWAYS_SAFE = 64
"""Two elements up to here are within what the most demanding kernel allows: whole passes over them are saved."""
SAMPLED_ROWS = 64
"""Lines that are looked at first: where their pairs are as large as pairs can be, the others need no look."""


@record
class Magnitudes:
    """Upper bounds on elements, and on two neighbours of one sign together."""

    largest: int
    """Of |element|."""
    pairs: tuple[int, ...]
    """For every dimension: of |x| + |y| of neighbours x and y along it, of which those with the sign of neither count as 0."""

    def pair(self, dimension: int | None) -> int:
        """The bound on two neighbours along a dimension; of any two elements where that is None.

        >>> Magnitudes(127, (128, 256)).pair(0), Magnitudes(127, (128, 256)).pair(1), Magnitudes(127, (128, 256)).pair(None)
        (128, 254, 254)
        """
        return min(2 * self.largest, self.pairs[dimension]) if dimension is not None else 2 * self.largest

    def reordered(self, order: Sequence[int]) -> Magnitudes:
        """Of the same elements with dimensions in another order."""
        return replace(self, pairs=tuple(self.pairs[dimension] for dimension in order))

    def copied(self, sources: Sequence[int | None]) -> Magnitudes:
        """Of copies of elements, with zeros between: neighbours along a dimension were neighbours along the one given for it,
        or any two elements where that is None.

        >>> Magnitudes(127, (128, 200)).copied((None, 0))
        Magnitudes(largest=127, pairs=(254, 128))
        """
        return replace(self, pairs=tuple(self.pair(source) for source in sources))

    def joined(self, runs: Sequence[Sequence[int]]) -> Magnitudes:
        """Of the same elements with runs of dimensions as one each: neighbours along several may be any two."""
        return replace(self, pairs=tuple(self.pairs[run[0]] if len(run) == 1 else 2 * self.largest for run in runs))


def magnitudes_of(array: Array) -> Magnitudes | None:
    """The bounds of a matrix, or of more dimensions, of a type of at most 16 bits; None for others, and for no elements.

    >>> magnitudes_of(np.array([[100, 28], [-128, 0]], np.int8))
    Magnitudes(largest=128, pairs=(128, 128))
    """
    if array.dtype.name not in TYPES or array.ndim < 2 or not array.size:
        return None
    largest = max(int(array.max()), -int(array.min()))
    return Magnitudes(_step_above(largest), tuple(_pair(array, dimension, largest) for dimension in range(array.ndim)))


def _pair(array: Array, dimension: int, largest: int) -> int:
    lines = np.moveaxis(array, dimension, 0)
    if array.shape[dimension] == 1:
        return _step_above(largest)
    if largest <= ALWAYS_SAFE:
        return 2 * _step_above(largest)
    few = lines[:, *(slice(None, None, max(1, extent // SAMPLED_ROWS)) for extent in lines.shape[1:])]
    most = 2 * _step_above(largest)
    bound = _step_above(_largest_pair(few))
    return most if bound >= most else _step_above(_largest_pair(lines))


def _largest_pair(lines: Array) -> int:
    """Of neighbours along the first dimension: positive elements, or negative ones, with zeros for the others."""
    wide = lines.astype(np.int16 if lines.dtype.itemsize == 1 else np.int32)
    positive, negative = np.maximum(wide, 0), np.minimum(wide, 0)
    return max(int((positive[1:] + positive[:-1]).max()), -int((negative[1:] + negative[:-1]).min()))


def _step_above(bound: int) -> int:
    """The least step that is not below: a power of two, or the largest number of a signed type, one below the next.

    >>> [_step_above(bound) for bound in (0, 3, 64, 65, 127, 128, 129)]
    [1, 4, 64, 127, 127, 128, 256]
    """
    power = 1 << max(bound - 1, 0).bit_length()
    return power - 1 if power in (128, 1 << 15) and bound < power else power
