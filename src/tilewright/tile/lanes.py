"""What operations of tile programs give, on NumPy arrays: of lanes, or of rows of lanes.

A lane is stored as its NumPy type says; bfloat16 as the bits of a uint16, and masks as booleans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from tilewright.errors import InternalError
from tilewright.tile.operations import Operation
from tilewright.tile.rounding import Array, error_of_sum, fma, from_bfloat16, to_bfloat16, to_f32_odd
from tilewright.tile.types import FLOATS, Type


@cache
def storage(dtype: str) -> np.dtype[Any]:
    """The NumPy type of lanes.

    >>> storage("bfloat16"), storage("mask8"), storage("int8")
    (dtype('uint16'), dtype('bool'), dtype('int8'))
    """
    return np.dtype("uint16" if dtype == "bfloat16" else "bool" if dtype.startswith("mask") else dtype)


def constant(number: float, value_type: Type) -> Array:
    """A number in every lane: integers wrap."""
    shape = (value_type.lanes,)
    if value_type.dtype == "bfloat16":
        return np.full(shape, to_bfloat16(np.array([number], np.float64))[0])
    if value_type.dtype not in FLOATS and not value_type.is_mask:
        number = int(number) & (1 << value_type.bits) - 1
        return np.full(shape, number, f"uint{value_type.bits}").view(storage(value_type.dtype))
    lanes: Array = np.full(shape, number, storage(value_type.dtype))
    return lanes


def function_of(operation: Operation, result: Type, operands: tuple[Type, ...], *, fuses: bool) -> Callable[..., Array]:
    """What computes an operation of values alone, as a function of arrays; see `Operation`."""
    if operation is Operation.CAST or operation is Operation.SATURATE:
        return _conversion(operation, result.dtype, operands[0].dtype)
    if operation is Operation.DOT:
        return _dot(result, operands)
    if operation is Operation.MULTIPLY_ADD:
        operation = Operation.FMA if fuses else operation
    table = FLOAT_FUNCTIONS if result.is_float else MASK_FUNCTIONS if operands[0].is_mask else INTEGER_FUNCTIONS
    found = table.get(operation) or FUNCTIONS.get(operation)
    if found is None:
        raise InternalError(f"{operation} of {', '.join(map(str, operands))} is not interpreted")
    return found


def _smaller(left: Array, right: Array) -> Array:
    return np.where(left < right, left, right)


def _larger(left: Array, right: Array) -> Array:
    return np.where(left > right, left, right)


def _multiply_add(left: Array, right: Array, total: Array) -> Array:
    return np.asarray(left * right + total)


def _exponent(x: Array) -> Array:
    exponent = (np.frexp(x)[1] - 1).astype(x.dtype)
    return np.where(np.isfinite(x), np.where(x == 0, x.dtype.type(-np.inf), exponent), np.abs(x))


def _mantissa(x: Array) -> Array:
    fraction: Array = np.frexp(x)[0] * x.dtype.type(2)
    return np.where(np.isinf(x) | (x == 0), np.copysign(x.dtype.type(1), x), fraction)


def _centred_exponent(x: Array) -> Array:
    return np.where(_mantissa(x) > x.dtype.type(np.sqrt(2)), _exponent(x) + 1, _exponent(x))


def _centred_mantissa(x: Array) -> Array:
    mantissa = _mantissa(x)
    return np.where(mantissa > x.dtype.type(np.sqrt(2)), mantissa / 2, mantissa)


def _scale(x: Array, by: Array) -> Array:
    steps = np.clip(np.floor(by), -9999, 9999)
    plain = np.ldexp(x, np.where(np.isnan(steps), 0, steps).astype(np.int32))
    infinite = x * np.where(by > 0, x.dtype.type(np.inf), x.dtype.type(0))
    return np.where(np.isinf(by), infinite, np.where(np.isnan(by), by, plain))


def _fraction(x: Array) -> Array:
    floor, zero = np.floor(x), x.dtype.type(0)
    near = x - floor
    is_above = error_of_sum(x, -floor, near) < 0
    below = np.where(is_above, np.nextafter(near, -zero), near)
    return np.where(np.isinf(x), zero, np.where(near == 0, -zero, below))


def _high_half(left: Array, right: Array) -> Array:
    bits = left.dtype.itemsize * 8
    wide = np.dtype(object) if bits == 64 else np.dtype(np.uint64 if left.dtype.kind == "u" else np.int64)
    product = left.astype(wide) * right.astype(wide)
    high: Array = product >> (bits if bits == 64 else wide.type(bits))
    return high.astype(left.dtype)


def _quotient(left: Array, right: Array) -> Array:
    """Toward zero: what is left is taken off first, so that the division is exact."""
    whole: Array = np.floor_divide(left - np.fmod(left, right), right)
    return np.where(right == 0, left.dtype.type(0), whole)


def _remainder(left: Array, right: Array) -> Array:
    return np.where(right == 0, left.dtype.type(0), np.fmod(left, right))


def _select(mask: Array, yes: Array, no: Array) -> Array:
    return np.where(mask, yes, no)


def _any(mask: Array) -> Array:
    return np.array([mask.any()], np.int32)


def _pairs(left: Array, right: Array) -> Array:
    products = left.astype(np.int32) * right.astype(np.int32)
    sums: Array = np.clip(products[0::2] + products[1::2], -(1 << 15), (1 << 15) - 1)
    return sums.astype(np.int16)


FUNCTIONS: Mapping[Operation, Callable[..., Array]] = {
    Operation.ADD: np.add,
    Operation.SUBTRACT: np.subtract,
    Operation.MULTIPLY: np.multiply,
    Operation.SMALLER: _smaller,
    Operation.LARGER: _larger,
    Operation.NEGATE: np.negative,
    Operation.ABSOLUTE: np.abs,
    Operation.MULTIPLY_ADD: _multiply_add,
    Operation.EQUAL: np.equal,
    Operation.UNEQUAL: np.not_equal,
    Operation.LESS: np.less,
    Operation.LESS_EQUAL: np.less_equal,
    Operation.GREATER: np.greater,
    Operation.GREATER_EQUAL: np.greater_equal,
    Operation.SELECT: _select,
    Operation.ANY: _any,
    Operation.PAIRS: _pairs,
}
"""Of any lanes."""
FLOAT_FUNCTIONS: Mapping[Operation, Callable[..., Array]] = {
    Operation.DIVIDE: np.divide,
    Operation.SQUARE_ROOT: np.sqrt,
    Operation.FLOOR: np.floor,
    Operation.CEIL: np.ceil,
    Operation.TRUNCATE: np.trunc,
    Operation.ROUND: np.rint,
    Operation.FMA: fma,
    Operation.EXPONENT: _exponent,
    Operation.MANTISSA: _mantissa,
    Operation.CENTRED_EXPONENT: _centred_exponent,
    Operation.CENTRED_MANTISSA: _centred_mantissa,
    Operation.SCALE: _scale,
    Operation.FRACTION: _fraction,
}
INTEGER_FUNCTIONS: Mapping[Operation, Callable[..., Array]] = {
    Operation.QUOTIENT: _quotient,
    Operation.REMAINDER: _remainder,
    Operation.HIGH_HALF: _high_half,
    Operation.WITH_SIGN: lambda value, sign: value * np.sign(sign),
    Operation.FMA: _multiply_add,
    Operation.AND: np.bitwise_and,
    Operation.OR: np.bitwise_or,
    Operation.XOR: np.bitwise_xor,
    Operation.NOT: np.invert,
    Operation.SHIFT_LEFT: np.left_shift,
    Operation.SHIFT_RIGHT: np.right_shift,
}
MASK_FUNCTIONS: Mapping[Operation, Callable[..., Array]] = {
    Operation.AND: np.logical_and,
    Operation.OR: np.logical_or,
    Operation.XOR: np.logical_xor,
    Operation.NOT: np.logical_not,
}


def _conversion(operation: Operation, to: str, of: str) -> Callable[[Array], Array]:
    """`CAST` and `SATURATE`, rounded once."""
    widened: Callable[[Array], Array] = from_bfloat16 if of == "bfloat16" else np.asarray
    if operation is Operation.SATURATE:
        return lambda x: _saturated(widened(x), storage(to))
    if to == "bfloat16":
        return np.asarray if of == "bfloat16" else to_bfloat16
    if to == "float16" and of not in FLOATS:
        return lambda x: to_f32_odd(x).astype(np.float16)
    if of in FLOATS and to not in FLOATS:
        return lambda x: _truncated(widened(x), storage(to))
    return lambda x: widened(x).astype(storage(to))


def _truncated(x: Array, to: np.dtype[Any]) -> Array:
    """Toward zero, by way of int32, or of int64 for uint32; what these lack becomes their smallest number."""
    by = to if to.itemsize == 8 else np.dtype("int64" if to == np.uint32 else "int32")
    near, limits = np.trunc(x.astype(np.float64)), np.iinfo(by)
    fits = (near >= limits.min) & (near < 2.0 * (limits.max // 2 + 1))
    return np.where(fits, np.where(fits, near, 0).astype(by), by.type(limits.min)).astype(to)


def _saturated(x: Array, to: np.dtype[Any]) -> Array:
    """The nearest numbers of an integer type. The largest one may be no float: what is not below the next one is it."""
    limits = np.iinfo(to)
    if x.dtype.kind != "f":
        own = np.iinfo(x.dtype)
        return np.clip(x, x.dtype.type(max(limits.min, own.min)), x.dtype.type(min(limits.max, own.max))).astype(to)
    near = np.rint(x.astype(np.float64))
    fits = (near >= limits.min) & (near < 2.0 * (limits.max // 2 + 1))
    inside = np.where(fits, near, 0).astype(to)
    return np.where(fits | np.isnan(near), inside, np.where(near > 0, to.type(limits.max), to.type(limits.min)))


def _dot(result: Type, operands: tuple[Type, ...]) -> Callable[..., Array]:
    """Sums of products of groups of narrower lanes."""
    group = result.bits // operands[0].bits
    total = float_group if operands[0].dtype == "bfloat16" else whole_group
    return lambda left, right, total_before: total(left.reshape(-1, group), right.reshape(-1, group), total_before)


def whole_group(left: Array, right: Array, total: Array) -> Array:
    """Sums of integers plus those of products along the last axis, which wrap."""
    products = left.astype(np.int64) * right.astype(np.int64)
    sums: Array = products.sum(-1) + total
    return sums.astype(total.dtype)


def float_group(left: Array, right: Array, total: Array) -> Array:
    """Pairs of bfloat16 numbers as AVX512_BF16 has them: denormal numbers are zeros, and of each pair the second comes first."""
    for place in (1, 0):
        total = flushed_step(left[..., place], right[..., place], total)
    return total


def flushed_step(left: Array, right: Array, total: Array) -> Array:
    """A product of bfloat16 numbers fused with its addition to float32, where denormal numbers are zeros."""
    factors = (flushed(from_bfloat16(one)) for one in (left, right))
    return flushed(fma(*np.broadcast_arrays(*factors, flushed(total))))


def flushed(x: Array) -> Array:
    """Zeros of the same sign for denormal numbers."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)
