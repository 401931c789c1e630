"""Which types the operands of operations have, and what else operations depend on: the reason why an instruction is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.tile.index import Index
from tilewright.tile.operations import COMPARISONS, Operation, TileOperation
from tilewright.tile.program import Argument, Constant, Instruction, OnTile, Place, TileProgram
from tilewright.tile.types import INDEX, Type, vector

_DOTS = {("int8", "int32"), ("uint8", "int32"), ("int16", "int32"), ("uint16", "int32"), ("bfloat16", "float32")}
"""Lanes of products, and of their sums."""


def fault_of(made: Instruction) -> str:
    """Why an instruction means nothing, empty if it does: counts and types of operands, `detail`, and the type of the result.

    >>> from tilewright.tile.builder import Builder
    >>> b = Builder()
    >>> x, y = b.argument("x", vector("float32", 4)), b.argument("y", vector("float32", 8))
    >>> fault_of(b.apply(Operation.ADD, x, y)), fault_of(b.apply(Operation.ADD, x, x))
    ('operand 1 is float32x8, not float32x4', '')
    """
    if any(one.type.rows > 1 for one in (made, *made.operands)):
        return f"{made.operation} is of no register tile"
    return _RULES[made.operation](made)


def _expected(made: Instruction, *types: Type) -> str:
    """The first operand that has another type."""
    if len(made.operands) != len(types):
        return f"it has {len(made.operands)} operands, not {len(types)}"
    for number, (operand, expected) in enumerate(zip(made.operands, types, strict=True)):
        if operand.type != expected:
            return f"operand {number} is {operand.type}, not {expected}"
    return ""


def _none(made: Instruction) -> str:
    return "" if made.detail is None else f"it depends on {made.detail}"


def is_integer(value_type: Type) -> bool:
    """Whether lanes are integers."""
    return not value_type.is_float and not value_type.is_mask


def is_number(value_type: Type) -> bool:
    """Whether lanes are computed with: bfloat16 is not."""
    return not value_type.is_mask and value_type.dtype != "bfloat16"


def _is_computed_float(value_type: Type) -> bool:
    return value_type.is_float and value_type.dtype != "bfloat16"


def _is_bits(value_type: Type) -> bool:
    return not value_type.is_float


def _like_result(count: int, accepts: Callable[[Type], bool]) -> Callable[[Instruction], str]:
    """Operands of the type of the result, which is one of some types."""

    def fault(made: Instruction) -> str:
        if not accepts(made.type):
            return f"{made.operation} does not give {made.type}"
        return _expected(made, *(made.type,) * count) or _none(made)

    return fault


def _shift(made: Instruction) -> str:
    if found := _like_result(2, is_integer)(made):
        return found
    count = made.operands[1]
    if isinstance(count, Constant) and not 0 <= count.number < made.type.bits:
        return f"lanes of {made.type.bits} bits are shifted by {count.number}"
    return ""


def _comparison(made: Instruction) -> str:
    of = made.operands[0].type if made.operands else made.type
    if not is_number(of):
        return f"{of} is not compared"
    return _expected(made, of, of) or _result(made, of.mask)


def _result(made: Instruction, expected: Type) -> str:
    return "" if made.type == expected else f"it gives {expected}, not {made.type}"


def _select(made: Instruction) -> str:
    return "masks are not selected" if made.type.is_mask else _expected(made, made.type.mask, made.type, made.type)


def _one(made: Instruction) -> str:
    return "" if len(made.operands) == 1 else f"it has {len(made.operands)} operands, not 1"


def _cast(made: Instruction) -> str:
    if found := _one(made):
        return found
    of = made.operands[0].type
    if of.is_mask is not made.type.is_mask or of.lanes != made.type.lanes:
        return f"{of} does not become {made.type}"
    return ""


def _saturate(made: Instruction) -> str:
    if not is_integer(made.type):
        return f"{made.type} has every number already"
    return _cast(made)


def _bitcast(made: Instruction) -> str:
    if found := _one(made):
        return found
    of = made.operands[0].type
    if (made.type.is_mask and not is_integer(of)) or of.size_bits != made.type.size_bits:
        return f"the bits of {of} are not {made.type}"
    return ""


def _dot(made: Instruction) -> str:
    if len(made.operands) != 3:
        return f"it has {len(made.operands)} operands, not 3"
    left, right, _ = (one.type for one in made.operands)
    if (left.dtype, made.type.dtype) not in _DOTS or (right.dtype, made.type.dtype) not in _DOTS:
        return f"{left} and {right} are not multiplied into {made.type}"
    lanes = made.type.size_bits // left.bits
    return _expected(made, vector(left.dtype, lanes), vector(right.dtype, lanes), made.type) or _equal_bits(left, right)


def _equal_bits(left: Type, right: Type) -> str:
    return "" if left.bits == right.bits else f"{left} and {right} have other bits"


def _pairs(made: Instruction) -> str:
    lanes = made.type.lanes
    return _expected(made, vector("uint8", 2 * lanes), vector("int8", 2 * lanes)) or _result(made, vector("int16", lanes))


def tile_fault_of(statement: OnTile) -> str:
    """Why a statement of a register tile means nothing, empty if it does."""
    tile, operation, given = statement.tile.type, statement.operation, tuple(one.type for one in statement.operands)
    if tile.rows == 1:
        return f"{tile} is no register tile"
    if (operation in (TileOperation.LOAD, TileOperation.STORE)) is not (statement.place is not None):
        return f"{operation} is of a place, or of none"
    if operation not in (TileOperation.OUTER, TileOperation.PRODUCT):
        return "" if not given else f"{operation} has no operands"
    if len(given) != 2:
        return f"it has {len(given)} operands, not 2"
    wanted = _factors(tile, *given) if operation is TileOperation.PRODUCT else _sides(tile)
    return "" if given == wanted else f"{given[0]} and {given[1]} are not multiplied into {tile}"


def _sides(tile: Type) -> tuple[Type, ...]:
    return (vector(tile.dtype, tile.rows), vector(tile.dtype, tile.lanes)) if tile.is_float else ()


def _factors(tile: Type, left: Type, right: Type) -> tuple[Type, ...]:
    """Register tiles whose product a tile of sums may have added: of the element types of two, which have the same number of
    groups."""
    if not {(left.dtype, tile.dtype), (right.dtype, tile.dtype)} <= _DOTS or left.bits != right.bits:
        return ()
    group = tile.bits // left.bits
    return Type(left.dtype, right.rows * group, tile.rows), Type(right.dtype, tile.lanes * group, right.rows)


def _splat(made: Instruction) -> str:
    return _expected(made, made.type.scalar)


def _iota(made: Instruction) -> str:
    return _expected(made) if is_number(made.type) else f"{made.type} does not count"


def _prefix(made: Instruction) -> str:
    if not made.type.is_mask or not isinstance(made.detail, int | Index):
        return "it is a mask, of an index"
    return _expected(made)


def _index(made: Instruction) -> str:
    return _expected(made) or _result(made, INDEX) or ("" if isinstance(made.detail, int | Index) else "it is of an index")


def _shuffle(made: Instruction) -> str:
    if len(made.operands) not in (1, 2) or not isinstance(made.detail, tuple):
        return "it is of one or two values, by numbers"
    first = made.operands[0].type
    count = first.lanes * len(made.operands)
    for number in made.detail:
        if not -1 <= number < count:
            return f"there is no lane {number} of {count}"
    return _expected(made, *(first,) * len(made.operands)) or _result(made, vector(first.dtype, len(made.detail)))


def _reduce(made: Instruction) -> str:
    if found := _one(made):
        return found
    of = made.operands[0].type
    if of.lanes & (of.lanes - 1):
        return f"{of.lanes} lanes have no halves"
    accepted = _REDUCED.get(made.detail) if isinstance(made.detail, Operation) else None
    if accepted is None or not accepted(of):
        return f"{made.detail} does not reduce {of}"
    return _result(made, of.scalar)


def _any(made: Instruction) -> str:
    return _one(made) or _expected(made, made.operands[0].type.mask) or _result(made, vector("int32"))


def _load(made: Instruction) -> str:
    if made.type.is_mask:
        return "masks are in no memory"
    return _expected(made, *(made.type.mask,) * bool(made.operands))


def _broadcast(made: Instruction) -> str:
    return "masks are in no memory" if made.type.is_mask else _expected(made)


def _gather(made: Instruction) -> str:
    if not made.operands or not is_integer(made.operands[0].type):
        return "positions are integers"
    positions = made.operands[0].type
    return _expected(made, vector(positions.dtype, made.type.lanes), *(made.type.mask,) * (len(made.operands) > 1))


def _call(made: Instruction) -> str:
    parameters = _parameters_of(made)
    if isinstance(parameters, str):
        return parameters
    return _expected(made, *parameters[:-1]) or _result(made, parameters[-1])


def _per_lane(made: Instruction) -> str:
    parameters = _parameters_of(made)
    if isinstance(parameters, str):
        return parameters
    lanes = made.type.lanes
    arguments = [vector(one.dtype, lanes) for one in parameters[:-1]]
    if any(one.lanes != 1 for one in parameters):
        return "the program is not one of scalars"
    return _expected(made, *arguments, made.type, made.type.mask) or _result(made, vector(parameters[-1].dtype, lanes))


def _parameters_of(made: Instruction) -> tuple[Type, ...] | str:
    """Types of the parameters of a program of values, and of its result."""
    program = made.detail
    if not isinstance(program, TileProgram) or program.result is None:
        return "it is of a program with a result"
    found = [one.type for one in program.parameters if isinstance(one, Argument)]
    if len(found) != len(program.parameters):
        return f"{program.name} takes more than values"
    return (*found, program.result.type)


def _place_is_detail(rule: Callable[[Instruction], str]) -> Callable[[Instruction], str]:
    return lambda made: rule(made) if isinstance(made.detail, Place) else "it has no place"


_REDUCED: Mapping[Operation, Callable[[Type], bool]] = {
    **dict.fromkeys((Operation.ADD, Operation.MULTIPLY, Operation.SMALLER, Operation.LARGER), is_number),
    **dict.fromkeys((Operation.AND, Operation.OR, Operation.XOR), is_integer),
}


def _scale(made: Instruction) -> str:
    return _expected(made, made.type, made.type) or ("" if _is_computed_float(made.type) else f"it is not of {made.type}")


_RULES: Mapping[Operation, Callable[[Instruction], str]] = {
    **dict.fromkeys(
        (Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.SMALLER, Operation.LARGER), _like_result(2, is_number)
    ),
    **dict.fromkeys((Operation.NEGATE, Operation.ABSOLUTE), _like_result(1, is_number)),
    **dict.fromkeys((Operation.FMA, Operation.MULTIPLY_ADD), _like_result(3, is_number)),
    Operation.DIVIDE: _like_result(2, _is_computed_float),
    Operation.SCALE: _scale,
    **dict.fromkeys(
        (
            Operation.SQUARE_ROOT,
            Operation.FLOOR,
            Operation.CEIL,
            Operation.TRUNCATE,
            Operation.ROUND,
            Operation.EXPONENT,
            Operation.MANTISSA,
            Operation.CENTRED_EXPONENT,
            Operation.CENTRED_MANTISSA,
            Operation.FRACTION,
        ),
        _like_result(1, _is_computed_float),
    ),
    **dict.fromkeys((Operation.QUOTIENT, Operation.REMAINDER, Operation.HIGH_HALF), _like_result(2, is_integer)),
    Operation.WITH_SIGN: _like_result(2, lambda t: is_integer(t) and t.is_signed),
    **dict.fromkeys((Operation.AND, Operation.OR, Operation.XOR), _like_result(2, _is_bits)),
    Operation.NOT: _like_result(1, _is_bits),
    **dict.fromkeys((Operation.SHIFT_LEFT, Operation.SHIFT_RIGHT), _shift),
    **dict.fromkeys(COMPARISONS, _comparison),
    Operation.SELECT: _select,
    Operation.CAST: _cast,
    Operation.SATURATE: _saturate,
    Operation.BITCAST: _bitcast,
    Operation.DOT: _dot,
    Operation.PAIRS: _pairs,
    Operation.SPLAT: _splat,
    Operation.IOTA: _iota,
    Operation.PREFIX: _prefix,
    Operation.INDEX: _index,
    Operation.SHUFFLE: _shuffle,
    Operation.REDUCE: _reduce,
    Operation.ANY: _any,
    Operation.LOAD: _place_is_detail(_load),
    Operation.BROADCAST: _place_is_detail(_broadcast),
    Operation.GATHER: _place_is_detail(_gather),
    Operation.CALL: _call,
    Operation.PER_LANE: _per_lane,
}
