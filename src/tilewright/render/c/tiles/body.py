"""Statements of a legalised tile program, one of C for each instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilewright.errors import InternalError
from tilewright.render.c.tiles import instructions, memory
from tilewright.render.c.tiles.vocabulary import (
    SCALARS,
    Vocabulary,
    all_lanes,
    index_text,
    literal,
    register_lanes,
)
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import (
    Argument,
    Assign,
    Block,
    Buffer,
    CallStatement,
    Constant,
    Define,
    For,
    If,
    Instruction,
    Integer,
    Place,
    Prefetch,
    Statement,
    Store,
    TileProgram,
    Value,
    Variable,
)
from tilewright.tile.types import Type

INTEGER_TEXTS = {
    IntegerOperation.MINIMUM: "{0} < {1} ? {0} : {1}",
    IntegerOperation.MAXIMUM: "{0} > {1} ? {0} : {1}",
    IntegerOperation.FLOOR_DIVIDE: "{0} / {1} - ({0} % {1} < 0)",
    IntegerOperation.REMAINDER: "{0} % {1} + ({0} % {1} < 0 ? {1} : 0)",
    IntegerOperation.LESS: "{0} < {1}",
    IntegerOperation.EQUAL: "{0} == {1}",
    IntegerOperation.BOTH: "{0} && {1}",
    IntegerOperation.EITHER: "{0} || {1}",
    IntegerOperation.CHOOSE: "{0} ? {1} : {2}",
    IntegerOperation.VALUE: "(long){0}",
}


class Body:
    """The text of one program: its values, integers and constants by the names that C has for them."""

    def __init__(self, vocabulary: Vocabulary, program: TileProgram, prefix: str = "") -> None:
        """`prefix` stands before all names of the text."""
        self.vocabulary, self.program, self.prefix = vocabulary, program, prefix
        self.buffers = program.buffers()
        self.integers: dict[str, str] = {}
        self._constants: dict[tuple[str, Type], str] = {}
        self._definitions: list[str] = []

    def lines(self) -> list[str]:
        """All statements, constants first."""
        lines = list(self.block(self.program.body))
        return [*self._definitions, *lines]

    # Names.

    def value(self, value: Value) -> str:
        """The name of a value, or its literal."""
        match value:
            case Instruction():
                return f"{self.prefix}v{value.number}"
            case Variable():
                return f"{self.prefix}s{value.number}"
            case Argument():
                return self.prefix + value.name
            case Constant():
                return self.constant(value.number, value.type)
        raise InternalError(f"C has no name for {value}")

    def constant(self, number: float, t: Type) -> str:
        """A number in every lane; vectors get a name in front of all statements."""
        if t.is_mask:
            return self._mask_constant(t, number != 0)
        text = literal(number, t.dtype)
        return text if t.lanes == 1 else self.lanes_constant([text] * register_lanes(t), t)

    def _mask_constant(self, t: Type, is_set: bool) -> str:
        if t.lanes == 1:
            return str(int(is_set))
        if self.vocabulary.is_mask_register(t):
            return f"({self.vocabulary.type(t)}){all_lanes(t) if is_set else '0'}"
        return self.constant(-int(is_set), t.integer)

    def lanes_constant(self, lanes: Iterable[str], t: Type) -> str:
        """A vector of literals."""
        text = ", ".join(lanes)
        found = self._constants.get((text, t))
        if found is None:
            found = self._constants[text, t] = f"{self.prefix}c{len(self._constants)}"
            self._definitions.append(f"const {self.vocabulary.type(t)} {found} = {{{text}}};")
        return found

    def index(self, index: IndexLike) -> str:
        """An expression of long integers."""
        return index_text(index, self.integers)

    def pointer(self, place: Place) -> str:
        """The address of the first element of a place."""
        buffer = self.prefix + place.buffer
        return f"{buffer} + {self.index(place.index)}" if place.index != 0 else buffer

    def element(self, place: Place, lane: IndexLike = 0) -> str:
        """An element at a multiple of the stride of a place."""
        return f"{self.prefix}{place.buffer}[{self.index(place.index + place.stride * lane)}]"

    # Statements.

    def block(self, block: Block) -> Iterator[str]:
        """Those of a block."""
        for statement in block:
            if isinstance(statement, Instruction):
                yield from instructions.lines(self, statement)
            else:
                yield from self.statement(statement)

    def statement(self, statement: Statement) -> Iterator[str]:
        """One that is no instruction."""
        match statement:
            case Define():
                yield f"{self.vocabulary.type(statement.variable.type)} {self._assigned(statement)}"
            case Assign():
                yield self._assigned(statement)
            case Store():
                yield from memory.store(self, statement)
            case Prefetch():
                yield f"__builtin_prefetch({self.pointer(statement.place)});"
            case Integer():
                yield f"const long {self._named(statement.name)} = {self._integer(statement)};"
            case CallStatement():
                yield self._call(statement)
            case If():
                yield f"if ({self.index(statement.condition)}) {{"
                yield from (f"  {line}" for line in self.block(statement.body))
                if statement.otherwise:
                    yield "} else {"
                    yield from (f"  {line}" for line in self.block(statement.otherwise))
                yield "}"
            case For():
                yield from self._loop(statement)

    def _assigned(self, statement: Define | Assign) -> str:
        return f"{self.value(statement.variable)} = {self.value(statement.value)};"

    def _named(self, name: str) -> str:
        return self.integers.setdefault(name, self.prefix + name)

    def _integer(self, statement: Integer) -> str:
        operands = [self.value(one) if isinstance(one, Value) else f"({self.index(one)})" for one in statement.operands]
        return INTEGER_TEXTS[statement.operation].format(*operands)

    def _loop(self, loop: For) -> Iterator[str]:
        name = self._named(loop.name)
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        yield f"for (long {name} = {self.index(loop.start)}; {name} < {self.index(loop.stop)}; {step}) {{"
        yield from (f"  {line}" for line in self.block(loop.body))
        yield "}"

    def _call(self, call: CallStatement) -> str:
        types, arguments = [], []
        for argument in call.arguments:
            if isinstance(argument, Place):
                types.append(pointer_type(self.buffers[argument.buffer]))
                arguments.append(self.pointer(argument))
            elif isinstance(argument, Value):
                types.append(self.vocabulary.type(argument.type))
                arguments.append(self.value(argument))
            else:
                types.append("long")
                arguments.append(self.index(argument))
        self.vocabulary.define(f"declare {call.symbol}", f"void {call.symbol}({', '.join(types) or 'void'});")
        return f"{call.symbol}({', '.join(arguments)});"


def pointer_type(buffer: Buffer) -> str:
    """The C type of a buffer."""
    return f"{'' if buffer.is_written else 'const '}{SCALARS[buffer.dtype]} *"


def parameters(program: TileProgram, body: Body, given: Mapping[str, str] | None = None) -> list[str]:
    """The parameters of a function; with expressions by name, definitions of variables of these values."""
    found = []
    for parameter in program.parameters:
        if isinstance(parameter, str):
            name, text = parameter, f"long {body.prefix}{parameter}"
            body.integers[parameter] = body.prefix + parameter
        elif isinstance(parameter, Buffer):
            name, text = parameter.name, f"{pointer_type(parameter)}{body.prefix}{parameter.name}"
        else:
            name, text = parameter.name, f"{body.vocabulary.type(parameter.type)} {body.prefix}{parameter.name}"
        found.append(text if given is None else f"{text} = {given[name]};")
    return found
