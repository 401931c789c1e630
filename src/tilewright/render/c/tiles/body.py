"""Statements of a legalised tile program, one of C for each instruction."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from tilewright.render.c.tiles import instructions, memory, register_tiles
from tilewright.render.c.tiles.names import Names, pointer_type
from tilewright.render.c.tiles.vocabulary import (
    SCALARS,
    Vocabulary,
    literal,
)
from tilewright.tile.index import IndexLike, named, terms_of
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.printer import printed
from tilewright.tile.program import (
    Assign,
    Block,
    Buffer,
    CallStatement,
    Configure,
    Define,
    For,
    If,
    Instruction,
    Integer,
    OnTile,
    Place,
    Prefetch,
    Release,
    Statement,
    Store,
    TileProgram,
    Value,
)

LINE_BYTES = 64
WORD = re.compile(r"[A-Za-z_]\w*")
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
    IntegerOperation.ADDRESS: "(long){0}",
    IntegerOperation.OPAQUE: "{0}",
}


class Body(Names):
    """The text of one program."""

    def lines(self) -> list[str]:
        """All statements, constants first."""
        lines = list(self.block(self.program.body))
        own = [self._scratch(one) for one in self.program.tables if one.values is None]
        return [*own, *self.definitions, *lines]

    def _scratch(self, memory: Buffer) -> str:
        return f"{SCALARS[memory.dtype]} {self.prefix}{memory.name}[{memory.elements}] __attribute__((aligned({LINE_BYTES})));"

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
                yield f"__builtin_prefetch({self._ahead(statement.place)});"
            case Integer():
                yield from self._defined_integer(statement)
            case CallStatement():
                yield self._call(statement)
            case Configure():
                yield from register_tiles.configure(self, statement)
            case OnTile():
                yield from register_tiles.change(self, statement)
            case Release():
                yield from register_tiles.release(self)
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

    def _defined_integer(self, statement: Integer) -> Iterator[str]:
        name, text = self._named(statement.name), self._integer(statement)
        if self._inner:
            self._inner.add(statement.name)
        if statement.operation is IntegerOperation.OPAQUE:
            yield f"long {name} = {text};"
            yield f'__asm__("" : "+r"({name}));'
        else:
            yield f"const long {name} = {text};"

    def _integer(self, statement: Integer) -> str:
        return INTEGER_TEXTS[statement.operation].format(*map(self._integer_operand, statement.operands))

    def _integer_operand(self, operand: IndexLike | Value | Place) -> str:
        if isinstance(operand, Value):
            return self.value(operand)
        return f"({self.pointer(operand) if isinstance(operand, Place) else self.index(operand)})"

    def _loop(self, loop: For) -> Iterator[str]:
        name, is_outermost = self._named(loop.name), not self._inner
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        self._inner.add(loop.name)
        if is_outermost:
            self._outermost = name
        lines = list(self.block(loop.body))
        if is_outermost:
            yield from self._before.values()
            self._before.clear()
            self._inner.clear()
        yield f"for (long {name} = {self.index(loop.start)}; {name} < {self.index(loop.stop)}; {step}) {{"
        yield from (f"  {line}" for line in lines)
        yield "}"

    def _ahead(self, place: Place) -> str:
        """The address of what is prefetched: in a loop, from a pointer on that is set before, by integers that are known there.
        GCC 12 would find what is read from the pointer to what is prefetched, and run out of registers."""
        known = [
            (names[0], factor)
            for names, factor in terms_of(place.index)
            if len(names) == 1 and names[0] not in self._inner and names[0] not in self._given
        ]
        if len(known) != 1 or not self._inner:
            return self.pointer(place)
        (name, factor), buffer = known[0], self.prefix + place.buffer
        ahead = f"{buffer}_{factor}_{self.integers[name]}_{self._outermost}"
        kind = pointer_type(self.buffers[place.buffer])
        self._before[ahead] = f'{kind}{ahead} = {buffer} + {factor} * {self.integers[name]}; __asm__("" : "+r"({ahead}));'
        return f"{ahead} + {self.index(place.index - named(name) * factor)}"

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

    def nested(self, program: TileProgram) -> str:
        """The digest tells a function from others of its name."""
        name = f"{program.name}_{hashlib.sha256(printed(program).encode()).hexdigest()[:8]}"
        if name not in self.vocabulary.definitions:
            legal = legalise(program, self.vocabulary.dialect)
            self.vocabulary.define(name, function_text(legal, self.vocabulary, name, "static __attribute__((noinline)) "))
        return name


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


def function_text(program: TileProgram, vocabulary: Vocabulary, name: str, qualifiers: str) -> str:
    """A legalised program as a function."""
    define_tables(program, vocabulary, "")
    body = Body(vocabulary, program)
    given = ", ".join(parameters(program, body)) or "void"
    lines = body.lines()
    result = "void"
    if program.result is not None:
        result = vocabulary.type(program.result.type)
        lines.append(f"return {body.value(program.result)};")
    mentioned = set(WORD.findall("\n".join(lines)))
    names = (one if isinstance(one, str) else one.name for one in program.parameters)
    lines[:0] = [f"(void){one};" for one in names if one not in mentioned]
    return "\n".join([f"{qualifiers}{result} {name}({given}) {{", *(f"  {line}" for line in lines), "}"])


def define_tables(program: TileProgram, vocabulary: Vocabulary, prefix: str) -> None:
    """Constants in memory, under names that begin with a prefix."""
    for table in (one for one in program.tables if one.values is not None):
        values = ", ".join(literal(number, table.dtype) for number in table.values or ())
        name = prefix + table.name
        vocabulary.define(name, f"static const {SCALARS[table.dtype]} {name}[] = {{{values}}};")
