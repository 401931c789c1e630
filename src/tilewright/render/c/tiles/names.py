"""Names of a text in C: of values, integers and elements of buffers; constants are defined in front of all statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from tilewright.errors import InternalError
from tilewright.render.c.tiles.vocabulary import SCALARS, Vocabulary, all_lanes, index_text, literal, register_lanes
from tilewright.tile.index import Index, IndexLike, named, terms_of
from tilewright.tile.program import Argument, Buffer, Constant, Instruction, Place, TileProgram, Value, Variable, users
from tilewright.tile.types import Type

ROWS_PER_POINTER = 4
"""As addressing modes have it: a pointer, and a stride times 0 to 3."""


class Names(ABC):
    """The text of one program: its values, integers and constants by the names that C has for them."""

    def __init__(self, vocabulary: Vocabulary, program: TileProgram, prefix: str = "") -> None:
        """`prefix` stands before all names of the text."""
        self.vocabulary, self.program, self.prefix = vocabulary, program, prefix
        self.buffers = program.buffers()
        self.integers: dict[str, str] = {}
        self.definitions: list[str] = []
        self._constants: dict[tuple[str, Type], str] = {}
        self.users = users(program)
        self._pointers: set[str] = set()
        self.tiles: dict[int, int] = {}
        """The numbers of register tiles, by identity, where they are registers by number."""
        self._inner: set[str] = set()
        """Integers that are defined in the outermost loop around."""
        self._outermost = ""
        self._before: dict[str, str] = {}
        """What stands before that loop, by name."""
        self._given = frozenset(one for one in program.parameters if isinstance(one, str))

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
            return self.mask_constant(t, number != 0)
        text = literal(number, t.dtype)
        return text if t.lanes == 1 else self.lanes_constant([text] * register_lanes(t), t)

    def mask_constant(self, t: Type, is_set: bool) -> str:
        """A mask of all lanes, or of none."""
        if t.lanes == 1:
            return str(int(is_set))
        if self.vocabulary.is_mask_register(t):
            return f"({self.vocabulary.type(t)}){all_lanes(t) if is_set else '0'}"
        return self.constant(-int(is_set), t.integer)

    def lanes_constant(self, lanes: Sequence[str], t: Type) -> str:
        """A vector of literals."""
        is_splat = len(set(lanes)) == 1
        text = self._repeated(lanes[0], len(lanes)) if is_splat else f"{{{', '.join(lanes)}}}"
        found = self._constants.get((text, t))
        if found is None:
            found = self._constants[text, t] = f"{self.prefix}c{len(self._constants)}"
            self.definitions.append(f"const {self.vocabulary.type(t)} {found} = {text};")
        return found

    def index(self, index: IndexLike) -> str:
        """An expression of long integers."""
        return index_text(index, self.integers)

    def pointer(self, place: Place) -> str:
        """The address of the first element of a place."""
        buffer, index = self._based(place, place.index)
        return f"{buffer} + {self.index(index)}" if index != 0 else buffer

    def element(self, place: Place, lane: IndexLike = 0) -> str:
        """An element at a multiple of the stride of a place."""
        buffer, index = self._based(place, place.index + place.stride * lane)
        return f"{buffer}[{self.index(index)}]"

    def _based(self, place: Place, index: IndexLike) -> tuple[str, IndexLike]:
        """A pointer, and the rest of an index. In loops, four rows share a pointer, which compilers must not split again: else
        each row takes a register, and tiles of 12 rows lose 4 to 12% (GCC 12)."""
        buffer = self.prefix + place.buffer
        strides = [(names[0], factor) for names, factor in terms_of(index) if len(names) == 1 and factor >= ROWS_PER_POINTER]
        rows = [(name, factor) for name, factor in strides if name in self._given]
        if len(rows) != 1 or not isinstance(index, Index) or index.names() <= self._given:
            return buffer, index
        (name, factor), type_text = rows[0], pointer_type(self.buffers[place.buffer])
        first = factor - factor % ROWS_PER_POINTER
        shared = f"{buffer}_{first}_{name}"
        if shared not in self._pointers:
            self._pointers.add(shared)
            self.definitions.append(f"{type_text}{shared} = {buffer} + {first} * {self.integers[name]};")
            self.definitions.append(f'__asm__("" : "+r"({shared}));')
        return shared, index - named(name) * first

    def in_all_lanes(self, text: str, t: Type) -> str:
        """A name or literal in every lane of a vector."""
        if t.lanes == 1:
            return text
        return f"({self.vocabulary.type(t)}){self._repeated(text, register_lanes(t))}"

    def _repeated(self, text: str, lanes: int) -> str:
        """An initialiser by a macro."""
        macro = self.vocabulary.define(f"in_{lanes}_lanes", f"#define in_{lanes}_lanes(x) {{{', '.join('x' * lanes)}}}")
        return f"{macro}({text})"

    def defined(self, made: Instruction, text: str) -> str:
        """A statement: a value by an expression."""
        return f"const {self.vocabulary.type(made.type)} {self.value(made)} = {text};"

    def kept(self, made: Instruction, text: str) -> Iterator[str]:
        """Statements: a value that memory has. One of several users stays in a register: GCC 12 would load it for each."""
        if made.type.lanes == 1 or self.users[id(made)] < 2:
            yield self.defined(made, text)
        else:
            yield from self.opaque(made, text)

    def opaque(self, made: Instruction, text: str) -> Iterator[str]:
        """Statements: a value of which a compiler does not know where it is from."""
        name = self.value(made)
        yield f"{self.vocabulary.type(made.type)} {name} = {text};"
        yield f"{self.vocabulary.keep(made.type)}({name});"

    @abstractmethod
    def nested(self, program: TileProgram) -> str:
        """The name of a function that another program becomes."""


def pointer_type(buffer: Buffer) -> str:
    """The C type of a buffer."""
    return f"{'' if buffer.is_written else 'const '}{SCALARS[buffer.dtype]} *"
