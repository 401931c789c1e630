"""Shuffles in C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.errors import InternalError
from tilewright.render.c.tiles.names import Names
from tilewright.render.c.tiles.vocabulary import register_lanes
from tilewright.tile.program import Instruction
from tilewright.tile.types import Type


def shuffle(body: Names, made: Instruction) -> Iterator[str]:
    """Lanes by number."""
    assert isinstance(made.detail, tuple)
    numbers: tuple[int, ...] = made.detail
    operands, source = [body.value(one) for one in made.operands], made.operands[0].type
    c, name = body.vocabulary.type(made.type), body.value(made)
    if body.vocabulary.is_mask_register(source):
        yield f"const {c} {name} = {_of_mask_register(body, made, operands, numbers)};"
    elif source.lanes == 1 or made.type.lanes == 1:
        lanes = ", ".join(_lane(operands, source, number) for number in numbers)
        yield f"const {c} {name} = {lanes if made.type.lanes == 1 else f'{{{lanes}}}'};"
    else:
        yield f"const {c} {name} = {_of_vectors(body, made, operands, source, numbers)};"


def _lane(operands: Sequence[str], source: Type, number: int) -> str:
    if number < 0:
        return "0"
    operand = operands[number // source.lanes]
    return operand if source.lanes == 1 else f"{operand}[{number % source.lanes}]"


def _of_vectors(body: Names, made: Instruction, operands: Sequence[str], source: Type, numbers: tuple[int, ...]) -> str:
    """Zeros come from a vector of them where there is one operand, else by a mask."""
    own, result = register_lanes(source), register_lanes(made.type)
    has_zeros = -1 in numbers
    second, zero = operands[-1], 0
    if has_zeros and len(operands) == 1:
        second, zero = body.constant(0, Type(source.dtype, own)), own
    places = [number // source.lanes * own + number % source.lanes if number >= 0 else zero for number in numbers]
    padding = result - len(places)
    lanes = ", ".join(map(str, [*places, *[-1] * padding]))
    text = f"__builtin_shufflevector({operands[0]}, {second}, {lanes})"
    if has_zeros and len(operands) == 2:
        integer = made.type.integer
        kept = body.lanes_constant(["-1" if n >= 0 else "0" for n in numbers] + ["0"] * padding, integer)
        text = f"({body.vocabulary.type(made.type)})(({body.vocabulary.type(integer)}){text} & {kept})"
    return text


def _of_mask_register(body: Names, made: Instruction, operands: Sequence[str], numbers: tuple[int, ...]) -> str:
    """Neighbouring lanes of one mask, or two masks behind each other."""
    c, source = body.vocabulary.type(made.type), made.operands[0].type
    first, count = numbers[0], len(numbers)
    if numbers != tuple(range(first, first + count)):
        bits = [f"({_bit(operands, source, number)}) << {lane}" for lane, number in enumerate(numbers) if number >= 0]
        return f"({c})({' | '.join(bits) or '0'})"
    if count == 1:
        return f"({_bit(operands, source, first)})"
    if first // source.lanes == (first + count - 1) // source.lanes:
        return f"({c})({operands[first // source.lanes]} >> {first % source.lanes} & 0x{(1 << count) - 1:x}UL)"
    if first == 0 and count == 2 * source.lanes:
        wide = "unsigned long" if count > 32 else "unsigned"
        return f"({c})({operands[0]} | ({wide}){operands[1]} << {source.lanes})"
    raise InternalError(f"no shuffle of mask registers by {numbers}")


def _bit(operands: Sequence[str], source: Type, number: int) -> str:
    return f"(unsigned long){operands[number // source.lanes]} >> {number % source.lanes} & 1"
