"""Looking at the values of constants no further than needed: models have gigabytes of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

FEW = 64
"""So many elements may decide what is generated (scales, lengths); of more only masks do."""
SAMPLES_PER_DIMENSION = 4
PIECE_ELEMENTS = 1 << 18
SMALLEST, LARGEST = 2.0**-55, 2.0**30
"""Products of two constants of such sizes, divided by the root of a third or not, are normal numbers of float32."""


def decide(array: Array) -> bool:
    """Whether planning and generated code may depend on these values: they are few, or a mask.

    >>> decide(np.arange(64)), decide(np.arange(65)), decide(np.tri(9)), decide(np.zeros(100)), decide(np.tri(9) > 0)
    (True, False, False, True, True)
    """
    return array.size <= FEW or is_mask(array)


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
