"""What a dialect computes by itself, in registers or scalars: all else `expansions` has to make."""

from __future__ import annotations

from tilewright.tile.dialects.description import Dialect
from tilewright.tile.operations import COMPARISONS, Operation
from tilewright.tile.program import Constant, Value
from tilewright.tile.types import BITS, Type

MINOR_FLOATS = ("float16", "bfloat16")
MOVES = frozenset(
    (
        Operation.BITCAST,
        Operation.SPLAT,
        Operation.IOTA,
        Operation.PREFIX,
        Operation.INDEX,
        Operation.SHUFFLE,
        Operation.ANY,
        Operation.LOAD,
        Operation.BROADCAST,
        Operation.GATHER,
        Operation.CALL,
        Operation.PER_LANE,
    )
)
"""What every renderer has, of every type."""
BY_TABLE_IN_SCALARS = frozenset(
    (
        Operation.SQUARE_ROOT,
        Operation.FLOOR,
        Operation.CEIL,
        Operation.TRUNCATE,
        Operation.ROUND,
        Operation.FMA,
    )
)
SHIFTS = (Operation.SHIFT_LEFT, Operation.SHIFT_RIGHT)
ALWAYS_EXPANDED = frozenset((Operation.MULTIPLY_ADD, Operation.REDUCE, Operation.ABSOLUTE, Operation.SATURATE))
"""In scalars, which C has no operator for either."""
IN_TERMS_OF_OTHERS = frozenset(
    (
        Operation.EXPONENT,
        Operation.MANTISSA,
        Operation.CENTRED_EXPONENT,
        Operation.CENTRED_MANTISSA,
        Operation.SCALE,
        Operation.FRACTION,
        Operation.WITH_SIGN,
        Operation.DOT,
        Operation.PAIRS,
    )
)


def is_supported(dialect: Dialect, operation: Operation, value_type: Type, operands: tuple[Value, ...]) -> bool:
    """Whether values of these types, which fit registers, need no expansion."""
    if operation is Operation.BITCAST and (value_type.is_mask or operands[0].type.is_mask):
        return not dialect.has_mask_registers and value_type.lanes > 1
    if operation is Operation.LOAD:
        return value_type.lanes == 1
    if operation in MOVES:
        return True
    if operation in SHIFTS and _is_shifted_wider(dialect, operation, value_type, operands[1]):
        return False
    types = key_types(operation, value_type, operands)
    if value_type.lanes == 1 and operation is not Operation.REDUCE:
        return _is_scalar_supported(dialect, operation, types)
    return (operation, *types) in dialect.table


def _is_shifted_wider(dialect: Dialect, operation: Operation, t: Type, count: Value) -> bool:
    """Whether short lanes are shifted by counts of their own in lanes of 32 bits, which have an instruction for that."""
    if t.bits >= 32 or t.lanes == 1 or isinstance(count, Constant):
        return False
    own, wide = dialect.entry(operation, t.dtype), dialect.entry(operation, "int32")
    return not (own and own.mnemonic) and bool(wide and wide.mnemonic)


def _is_scalar_supported(dialect: Dialect, operation: Operation, types: tuple[str, ...]) -> bool:
    if any(one in MINOR_FLOATS for one in types):
        return operation is Operation.SELECT
    if operation in ALWAYS_EXPANDED or operation in IN_TERMS_OF_OTHERS:
        return False
    if operation is Operation.CAST:
        return True
    return operation not in BY_TABLE_IN_SCALARS or (operation, *types) in dialect.table


def key_types(operation: Operation, value_type: Type, operands: tuple[Value, ...]) -> tuple[str, ...]:
    """The types in the key of a dialect's table."""
    if operation in COMPARISONS:
        return (operands[0].type.dtype,)
    if operation is Operation.CAST or operation is Operation.SATURATE:
        return (operands[0].type.dtype, value_type.dtype)
    if operation is Operation.DOT:
        return (operands[0].type.dtype, operands[1].type.dtype, value_type.dtype)
    if operation is Operation.PAIRS:
        return (operands[0].type.dtype, operands[1].type.dtype)
    return (value_type.dtype,)


assert set(MINOR_FLOATS) <= set(BITS)
