"""Masks in C: bits of a mask register, or integers of 0 and -1."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.render.c.tiles.names import Names
from tilewright.render.c.tiles.vocabulary import Vocabulary, all_lanes, register_lanes
from tilewright.tile.index import Index
from tilewright.tile.operations import Operation
from tilewright.tile.program import Instruction, Value
from tilewright.tile.types import Type


def prefix(body: Names, made: Instruction) -> Iterator[str]:
    """The first lanes, any count of them."""
    t, name, count = made.type, body.value(made), made.detail
    assert isinstance(count, int | Index)
    c = body.vocabulary.type(t)
    if t.lanes == 1:
        yield f"const {c} {name} = {body.index(count)} > 0;"
        return
    if isinstance(count, int):
        yield f"const {c} {name} = {_constant(body, t, count)};"
        yield f"(void){name};"
        return
    n = f"{name}_n"
    yield f"const long {n} = {body.index(count)};"
    if body.vocabulary.is_mask_register(t):
        one = "1UL" if t.lanes > 31 else "1u"
        yield f"const {c} {name} = ({c})({n} >= {t.lanes} ? {all_lanes(t)} : {n} > 0 ? ({one} << {n}) - 1 : 0);"
        yield f"(void){name};"
        return
    integer = t.integer
    lanes = body.lanes_constant([str(lane) for lane in range(register_lanes(t))], integer)
    size = body.vocabulary.type(integer.scalar)
    yield f"const {size} {n}_lanes = ({size})({n} >= {t.lanes} ? {t.lanes} : {n} > 0 ? {n} : 0);"
    yield f"const {c} {name} = ({c})({lanes} < {body.in_all_lanes(f'{n}_lanes', integer)});"
    yield f"(void){name};"


def _constant(body: Names, t: Type, count: int) -> str:
    count = min(max(count, 0), t.lanes)
    if body.vocabulary.is_mask_register(t):
        return f"({body.vocabulary.type(t)})0x{(1 << count) - 1:x}{'UL' if t.lanes > 31 else ''}"
    lanes = register_lanes(t)
    return body.lanes_constant(["-1"] * count + ["0"] * (lanes - count), t.integer)


def any_lane(body: Names, made: Instruction) -> Iterator[str]:
    """Whether a lane is set."""
    yield f"const int {body.value(made)} = {any_text(body, body.value(made.operands[0]), made.operands[0].type)};"


def any_text(body: Names, mask: str, t: Type) -> str:
    """An expression that is not 0 where a lane is set; the upper lanes of a narrow vector are unknown."""
    if t.lanes == 1 or body.vocabulary.is_mask_register(t):
        return f"{mask} != 0"
    words, rest = divmod(t.size_bits, 64)
    if not rest:
        whole = body.vocabulary.vector_type("int64", register_lanes(t) * t.bits // 64)
        return f"({' | '.join(f'(({whole}){mask})[{i}]' for i in range(words))}) != 0"
    return f"({' | '.join(f'{mask}[{i}]' for i in range(t.lanes))}) != 0"


def prefix_count(body: Names, mask: Value) -> str:
    """How many lanes of a prefix are set, perhaps more than there are; empty of other masks."""
    if not isinstance(mask, Instruction) or mask.operation is not Operation.PREFIX:
        return ""
    return str(mask.detail) if isinstance(mask.detail, int) else f"{body.value(mask)}_n"


def condition(body: Names, mask: Value | None, lane: int) -> str | None:
    """What stands before the statement of a lane: a condition, nothing without a mask; None where it is never set."""
    if mask is None:
        return ""
    if count := prefix_count(body, mask):
        if count.lstrip("-").isdigit():
            return "" if int(count) > lane else None
        return f"if ({count} > {lane}) "
    name = body.value(mask)
    return f"if ({name} >> {lane} & 1) " if body.vocabulary.is_mask_register(mask.type) else f"if ({name}[{lane}]) "


def cast(vocabulary: Vocabulary, made: Instruction, operand: str) -> str:
    """A mask register for lanes of another size."""
    return f"({vocabulary.type(made.type)}){operand}"
