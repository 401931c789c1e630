"""The text of a tile program for readers, and for digests: equal programs have equal texts."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tile.index import IndexLike
from tilewright.tile.program import (
    Argument,
    Assign,
    Block,
    Buffer,
    CallStatement,
    Configure,
    Constant,
    Define,
    For,
    If,
    Instruction,
    Integer,
    OnTile,
    Parameter,
    Place,
    Prefetch,
    Release,
    Statement,
    Store,
    TileProgram,
    Value,
    Variable,
)


def printed(program: TileProgram) -> str:
    """A line a statement; see `Builder`."""
    head = f"{program.name}({', '.join(map(_parameter, program.parameters))})"
    result = [] if program.result is None else [f"  result {_value(program.result)}"]
    return "\n".join([head, *map(_own, program.tables), *(f"  {line}" for line in _lines(program.body)), *result])


def _own(memory: Buffer) -> str:
    if memory.values is None:
        return f"  scratch {_parameter(memory)}"
    return f"  table {memory.name}: {memory.dtype} = {', '.join(map(repr, memory.values))}"


def printed_statement(statement: Statement) -> str:
    """The first line of a statement, for messages."""
    return next(_statement(statement))


def _parameter(parameter: Parameter) -> str:
    if isinstance(parameter, str):
        return parameter
    if isinstance(parameter, Argument):
        return f"{parameter.name}: {parameter.type}"
    size = f"[{parameter.elements}]" if parameter.elements is not None else ""
    return f"{parameter.name}: {parameter.dtype}{size}{' written' * parameter.is_written}"


def _lines(block: Block) -> Iterator[str]:
    for statement in block:
        yield from _statement(statement)


def _statement(statement: Statement) -> Iterator[str]:
    match statement:
        case Instruction():
            yield f"v{statement.number} = {_instruction(statement)}: {statement.type}"
        case Define():
            yield f"variable {_value(statement.variable)} = {_value(statement.value)}: {statement.variable.type}"
        case Assign():
            yield f"{_value(statement.variable)} = {_value(statement.value)}"
        case Store():
            mask = f" where {_value(statement.mask)}" if statement.mask is not None else ""
            yield f"store{' streamed' * statement.is_streamed} {_place(statement.place)} = {_value(statement.value)}{mask}"
        case Prefetch():
            yield f"prefetch {_place(statement.place)}"
        case Integer():
            yield f"{statement.name} = {statement.operation} {', '.join(map(_operand, statement.operands))}"
        case CallStatement():
            yield f"call {statement.symbol}({', '.join(map(_operand, statement.arguments))})"
        case Configure(tiles=tiles):
            yield f"tiles {', '.join(f'{_value(one)}: {one.type} of {rows} by {lanes}' for one, rows, lanes in tiles)}"
        case OnTile():
            place = [_place(statement.place)] if statement.place is not None else []
            yield f"{statement.operation} {', '.join([_value(statement.tile), *place, *map(_value, statement.operands)])}"
        case Release():
            yield "release"
        case For():
            yield f"for {statement.name} from {statement.start} to {statement.stop} by {statement.step}"
            yield from (f"  {line}" for line in _lines(statement.body))
        case If():
            yield f"if {statement.condition}"
            yield from (f"  {line}" for line in _lines(statement.body))
            if statement.otherwise:
                yield "else"
                yield from (f"  {line}" for line in _lines(statement.otherwise))


def _instruction(value: Instruction) -> str:
    detail = value.detail
    if isinstance(detail, Place):
        parts = [_place(detail), *map(_value, value.operands)]
    elif isinstance(detail, TileProgram):
        parts = [f"[{printed(detail)}]", *map(_value, value.operands)]
    else:
        parts = [*map(_value, value.operands), *([str(detail)] if detail is not None else [])]
    return " ".join([value.operation, ", ".join(parts)]).rstrip()


def _operand(operand: Place | IndexLike | Value) -> str:
    if isinstance(operand, Place):
        return _place(operand)
    return _value(operand) if isinstance(operand, Value) else str(operand)


def _value(value: Value) -> str:
    match value:
        case Constant():
            return repr(value.number)
        case Argument():
            return value.name
        case Variable():
            return f"s{value.number}"
        case Instruction():
            return f"v{value.number}"
    raise AssertionError(value)


def _place(place: Place) -> str:
    stride = f" by {place.stride}" if place.stride != 1 else ""
    row = f" rows by {place.row}" if place.row != 0 else ""
    return f"{place.buffer}[{place.index}{stride}{row}]"
