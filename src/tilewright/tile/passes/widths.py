"""Values wider than a register, as several: operations on them part by part, and shuffles between parts."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import InternalError
from tilewright.tile.index import Index
from tilewright.tile.operations import Operation
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.program import Constant, Detail, Place, Value
from tilewright.tile.types import Type, vector


class Parts(Value):
    """A value as registers, the first lanes first."""

    __slots__ = ("parts",)

    def __init__(self, builder: DialectBuilder, value_type: Type, parts: tuple[Value, ...]) -> None:
        self.builder, self.type, self.parts = builder, value_type, parts


def part_types(value_type: Type, bits: int) -> tuple[Type, ...]:
    """Those of the registers of a value.

    >>> part_types(vector("float64", 16), 256)[0].lanes, len(part_types(vector("float64", 16), 256))
    (4, 4)
    """
    if value_type.size_bits <= bits:
        return (value_type,)
    lanes = bits // value_type.bits
    if value_type.lanes % lanes:
        raise InternalError(f"{value_type} is no whole number of registers of {bits} bits")
    return (vector(value_type.dtype, lanes),) * (value_type.lanes // lanes)


def parts_of(builder: DialectBuilder, value: Value) -> tuple[Value, ...]:
    """A value as registers."""
    if isinstance(value, Parts):
        return value.parts
    types = part_types(value.type, builder.dialect.vector_bits)
    if len(types) == 1:
        return (value,)
    if isinstance(value, Constant):
        return (builder.constant(value.number, types[0]),) * len(types)
    raise InternalError(f"a value of {value.type} is no register")


def joined(builder: DialectBuilder, value_type: Type, found: Sequence[Value]) -> Value:
    """A value of pieces, of which there may be more than registers: neighbours are put together."""
    wanted = len(part_types(value_type, builder.dialect.vector_bits))
    pieces_left = list(found)
    while len(pieces_left) > wanted:
        _check_halves(pieces_left)
        lanes = 2 * pieces_left[0].type.lanes
        pairs = zip(pieces_left[::2], pieces_left[1::2], strict=True)
        pieces_left = [builder.shuffle(pair, range(lanes)) for pair in pairs]
    return pieces_left[0] if wanted == 1 else Parts(builder, value_type, tuple(pieces_left))


def _check_halves(parts: Sequence[Value]) -> None:
    if len(parts) % 2:
        raise InternalError(f"{len(parts)} parts of {parts[0].type} have no halves")


def pieces(builder: DialectBuilder, value: Value, count: int) -> tuple[Value, ...]:
    """A value as so many pieces of equal size, at least as many as it has registers."""
    parts = parts_of(builder, value)
    if len(parts) == count:
        return parts
    if isinstance(value, Constant):
        return (builder.constant(value.number, vector(value.type.dtype, value.type.lanes // count)),) * count
    lanes = value.type.lanes // count
    each = parts[0].type.lanes // lanes
    return tuple(builder.shuffle((part,), range(i * lanes, i * lanes + lanes)) for part in parts for i in range(each))


def cut(builder: DialectBuilder, operation: Operation, value_type: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """An operation on wide values."""
    match operation:
        case Operation.SHUFFLE:
            assert isinstance(detail, tuple)
            return _shuffled(builder, value_type, operands, detail)
        case Operation.REDUCE:
            assert isinstance(detail, Operation)
            return builder.reduce(detail, _folded(builder, detail, parts_of(builder, operands[0])))
        case Operation.ANY:
            mask = _folded(builder, Operation.OR, parts_of(builder, operands[0]))
            return builder.instruction(operation, value_type, (mask,))
        case Operation.BITCAST:
            parts = parts_of(builder, operands[0])
            types = part_types(value_type, builder.dialect.vector_bits)
            return Parts(builder, value_type, tuple(map(builder.bitcast, parts, types)))
    return _lane_by_lane(builder, operation, value_type, operands, detail)


def _folded(builder: DialectBuilder, operation: Operation, parts: Sequence[Value]) -> Value:
    """Parts by halves."""
    while len(parts) > 1:
        _check_halves(parts)
        half = len(parts) // 2
        parts = [builder.apply(operation, low, high) for low, high in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


def _lane_by_lane(
    builder: DialectBuilder, operation: Operation, value_type: Type, operands: tuple[Value, ...], detail: Detail
) -> Value:
    """What treats all lanes alike; what a lane's number enters is told where its piece begins."""
    bits = builder.dialect.vector_bits
    count = max(len(part_types(one, bits)) for one in (value_type, *[one.type for one in operands]))
    lanes = value_type.lanes // count
    piece_type = vector(value_type.dtype, lanes)
    if operation is Operation.SPLAT or operation is Operation.BROADCAST:
        return joined(builder, value_type, [builder.instruction(operation, piece_type, operands, detail)] * count)
    given = [pieces(builder, one, count) for one in operands]
    found = []
    for number in range(count):
        its_operands = tuple([one[number] for one in given])
        its_detail = _moved(builder, operation, detail, number * lanes, value_type)
        made = builder.instruction(operation, piece_type, its_operands, its_detail)
        if operation is Operation.IOTA and number:
            made = made + number * lanes
        found.append(made)
    return joined(builder, value_type, found)


def _moved(builder: DialectBuilder, operation: Operation, detail: Detail, lanes: int, value_type: Type) -> Detail:
    """The place, or the count of a prefix, of a piece that begins at a lane."""
    if operation is Operation.PREFIX:
        assert isinstance(detail, int | Index)
        return detail - lanes
    if operation is Operation.LOAD:
        assert isinstance(detail, Place)
        elements = lanes * max(1, value_type.bits // builder.element_bits(detail.buffer))
        return Place(detail.buffer, detail.index + detail.stride * elements, detail.stride)
    return detail


def _shuffled(builder: DialectBuilder, value_type: Type, operands: tuple[Value, ...], numbers: tuple[int, ...]) -> Value:
    """Every register of the result from the registers that its lanes lie in, one after the other."""
    sources = [part for one in operands for part in parts_of(builder, one)]
    each = sources[0].type.lanes
    found = []
    types = part_types(value_type, builder.dialect.vector_bits)
    lanes = types[0].lanes
    for first in range(0, value_type.lanes, lanes):
        found.append(_gathered(builder, sources, each, numbers[first : first + lanes]))
    return found[0] if len(found) == 1 else Parts(builder, value_type, tuple(found))


def _gathered(builder: DialectBuilder, sources: Sequence[Value], each: int, numbers: tuple[int, ...]) -> Value:
    used = sorted({number // each for number in numbers if number >= 0})
    if not used:
        return builder.constant(0, vector(sources[0].type.dtype, len(numbers)))
    if len(used) <= 2:
        places = {source: place * each for place, source in enumerate(used)}
        local = [number if number < 0 else places[number // each] + number % each for number in numbers]
        return builder.shuffle([sources[one] for one in used], local)
    total = _gathered(builder, sources, each, tuple(n if n // each in used[:2] else -1 for n in numbers))
    for one in used[2:]:
        widened = builder.shuffle([sources[one]], [n % each if n // each == one and n >= 0 else -1 for n in numbers])
        count = len(numbers)
        total = builder.shuffle(
            [total, widened], [count + i if n // each == one and n >= 0 else i for i, n in enumerate(numbers)]
        )
    return total
