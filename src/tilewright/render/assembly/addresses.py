"""Addresses and integers of a tile program in assembly.

A place of a buffer is base + stride * 0 to 3 + a number. The base is a pointer for every four multiples of a stride: it is set
before the innermost loop on whose variable it depends, and moves when that loop goes on. What depends on no variable of a loop is
computed before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from tilewright.render.assembly.words import Line, Memory, Operand, OutOfRegisters, Word
from tilewright.tile.index import Index, IndexLike, Term, named, normal, substituted, terms_of
from tilewright.tile.program import Buffer, For, Place, TileProgram
from tilewright.tile.types import BITS

ROWS_PER_POINTER = 4
MOST_ROWS = 32
"""As many as a register tile has. Pointers so far from the first one are not computed from those before them, which a loop would
move one by one: a step so far ahead is no row."""
LARGEST = 2**31 - 1
"""The largest number in an instruction."""
Terms: TypeAlias = tuple[Term, ...]


class Frame:
    """What the statements of a block depend on: the program, a loop, or a condition.

    `before` are lines that stand before the loop or the condition, `lines` those of the block.
    """

    __slots__ = ("before", "known", "lines", "loop", "pointers")

    def __init__(self, loop: For | None = None) -> None:
        self.before: list[Line] = []
        self.lines: list[Line] = []
        self.loop = loop
        self.known: dict[object, Word] = {}
        """Words by what they are: strides, pointers, integers."""
        self.pointers: list[tuple[Word, IndexLike]] = []
        """Pointers that move with the loop, and the bytes of a step of 1."""


class Addresses:
    """The frames of the statement that is being written, the innermost last."""

    def __init__(self, program: TileProgram) -> None:
        self.buffers = program.buffers()
        self.frames = [Frame()]
        self.home: dict[str, int] = {}
        """The frame in which an integer is defined, by name."""
        self.integers: dict[str, Word] = {}
        self.arguments: list[Word] = []
        self.other_names: dict[str, IndexLike] = {}
        """What integers are equal to that hide how they are computed."""
        self._open: int | None = None
        """How many frames count while something is written before a loop; None for all."""

    @property
    def lines(self) -> list[Line]:
        """Those of the innermost block; inside of `before`, those before a loop."""
        return self.frames[-1].lines if self._open is None else self.lines_of(self._open - 1)

    @contextmanager
    def before(self, level: int) -> Iterator[None]:
        """What is written inside stands before the frame of a level."""
        opened, self._open = self._open, level
        yield
        self._open = opened

    def argument(self, name: str, word: Word) -> None:
        """An integer or a pointer that the function is given."""
        self.integers[name], self.home[name] = word, 0
        self.arguments.append(word)

    def define(self, name: str, word: Word) -> None:
        """An integer of the block gets a name."""
        self.integers[name], self.home[name] = word, (len(self.frames) if self._open is None else self._open) - 1

    def enter(self, loop: For | None = None) -> None:
        """A loop begins, or the block of a condition."""
        self.frames.append(Frame(loop))
        if loop is not None:
            self.home[loop.name] = len(self.frames) - 1

    def leave(self, lines: Sequence[Line]) -> None:
        """The innermost block ends: with what surrounds it, it becomes these lines of the block around."""
        frame = self.frames.pop()
        self.frames[-1].lines += [*frame.before, *lines]

    # Integers.

    def level(self, index: IndexLike) -> int:
        """The innermost frame that a polynomial depends on."""
        return max((self.home[name] for name in index.names()), default=0) if isinstance(index, Index) else 0

    def levels(self, index: IndexLike) -> range:
        """Frames that may know what depends on a polynomial; the last one is where it is computed: inside of all conditions."""
        level = self.level(index)
        frames = range(level + 1, len(self.frames) if self._open is None else self._open)
        return range(level, max((number for number in frames if self.frames[number].loop is None), default=level) + 1)

    def known(self, key: object, levels: range) -> Word | None:
        """What some frames know."""
        return next((word for level in levels if (word := self.frames[level].known.get(key)) is not None), None)

    def lines_of(self, level: int) -> list[Line]:
        """Where words stand that depend on a frame and not on those inside it."""
        return self.frames[level + 1].before if level + 1 < len(self.frames) else self.frames[level].lines

    def plain(self, index: IndexLike) -> IndexLike:
        """An index without names of what is equal to a polynomial of others."""
        if self.other_names and isinstance(index, Index) and any(name in self.other_names for name in index.names()):
            return substituted(index, self.other_names)
        return index

    def value(self, index: IndexLike) -> Operand:
        """A number, or a word with the value of a polynomial; nobody may change it."""
        index = self.plain(index)
        if isinstance(index, int):
            if abs(index) > LARGEST:
                raise OutOfRegisters("a number of a tile program does not fit into an instruction")
            return index
        levels, key = self.levels(index), ("value", index)
        found = self.known(key, levels)
        if found is None:
            found = self.frames[levels[-1]].known[key] = self._computed(index, levels[-1])
        return found

    def word(self, index: IndexLike) -> Word:
        """The same in a word of its own."""
        lines, word = self.lines, Word()
        lines.append(Line("mov", word, self.value(index)))
        return word

    def _computed(self, index: Index, level: int) -> Word:
        """Terms are added up; one name alone is what it names."""
        single = self._single(index)
        if single is not None and single[1] == 1:
            return self._named(single[0])
        lines, total = self.lines_of(level), None
        for names, factor in index.terms:
            term = self._term(names, factor, lines)
            if total is None:
                total = Word()
                lines.append(Line("mov", total, term))
            else:
                lines.append(Line("add", total, term))
        assert total is not None
        return total

    def _term(self, names: tuple[str, ...], factor: int, lines: list[Line]) -> Operand:
        if not names:
            return factor
        word = Word()
        lines.append(Line("mov", word, self._named(names[0])))
        for name in names[1:]:
            lines.append(Line("imul", word, self._named(name)))
        if factor != 1:
            is_power = factor > 0 and not factor & (factor - 1)
            lines.append(Line("shl", word, factor.bit_length() - 1) if is_power else Line("imul", word, factor))
        return word

    def _named(self, name: str) -> Word:
        """The word of an integer; the variable of a loop gets one if it is needed as a number."""
        if name not in self.integers:
            level = self.home[name]
            frame = self.frames[level]
            assert frame.loop is not None
            word = self.integers[name] = Word()
            with self.before(level):
                frame.before.append(Line("mov", word, self.value(frame.loop.start)))
            frame.pointers.append((word, 1))
        return self.integers[name]

    @staticmethod
    def _single(index: Index) -> tuple[str, int] | None:
        """The name and the factor of a polynomial of one name."""
        (names, factor), *more = index.terms
        return None if more or len(names) != 1 else (names[0], factor)

    # Places.

    def memory(self, name: str, index: IndexLike) -> Memory:
        """The address of an element of a buffer."""
        buffer = self.buffers[name]
        size = BITS[buffer.dtype] // 8
        terms = dict(terms_of(self.plain(index)))
        displacement = terms.pop((), 0) * size
        if abs(displacement) > LARGEST:
            raise OutOfRegisters("a number of a tile program does not fit into an instruction")
        stride = self._stride(terms)
        rest = 0
        if stride is not None:
            rest = terms[stride,] % ROWS_PER_POINTER
            terms[stride,] -= rest
        base = self._pointer(buffer, normal(terms), stride)
        if not rest or stride is None:
            return Memory(base, None, 1, displacement)
        of_stride = self.stride(named(stride) * (size * (3 if rest == 3 else 1)))
        return Memory(base, of_stride, 2 if rest == 2 else 1, displacement)

    def address(self, place: Place) -> Word:
        """Where an element of a buffer lies, in a word of its own."""
        word = self.word(place.index * (BITS[self.buffers[place.buffer].dtype] // 8))
        self.lines.append(Line("add", word, self.integers[place.buffer]))
        return word

    def stride(self, index: IndexLike) -> Word:
        """A word with a stride in bytes: not the argument itself, which lies where the caller put it."""
        levels, key = self.levels(index), ("stride", index)
        found = self.known(key, levels)
        if found is None:
            value, found = self.value(index), Word()
            if isinstance(value, Word) and not value.is_argument:
                found = value
            else:
                self.lines_of(levels[-1]).append(Line("mov", found, value))
            self.frames[levels[-1]].known[key] = found
        return found

    def _stride(self, terms: dict[tuple[str, ...], int]) -> str | None:
        """The name of a stride that no loop moves along, of which an index has a positive multiple: one of few rows, one that it
        counts, too."""
        found = [
            names[0]
            for names, factor in terms.items()
            if len(names) == 1 and factor > 0 and self.frames[self.home[names[0]]].loop is None
        ]
        found = [name for name in found if terms[name,] < MOST_ROWS] or found
        counted = {name for names in terms if len(names) > 1 for name in names}
        return next((name for name in found if name in counted), found[0] if found else None)

    def _pointer(self, buffer: Buffer, index: IndexLike, stride: str | None) -> Word:
        """A word that points to an element, whatever loops run."""
        levels, key = self.levels(index), ("pointer", buffer.name, index)
        found = self.known(key, levels)
        if found is not None:
            return found
        level, loop = levels[0], self.frames[levels[0]].loop
        if loop is not None and isinstance(index, Index) and self._moves(index, loop, level):
            with self.before(level):
                self.frames[level].known[key] = found = self._moving(buffer, index, stride, level)
        else:
            self.frames[levels[-1]].known[key] = found = self._resting(buffer, index, stride, levels[-1])
        return found

    def _resting(self, buffer: Buffer, index: IndexLike, stride: str | None, level: int) -> Word:
        """A pointer that no loop of its level moves."""
        lines, size = self.lines_of(level), BITS[buffer.dtype] // 8
        if index == 0:
            word = Word()
            lines.append(Line("mov", word, self.integers[buffer.name]))
            return word
        below = self._four_less(index, stride)
        word = Word()
        if below is not None and stride is not None:
            base, step = self._pointer(buffer, below, stride), self.stride(named(stride) * size)
            lines.append(Line("lea", word, memory=Memory(base, step, ROWS_PER_POINTER)))
            return word
        lines.append(Line("mov", word, self.integers[buffer.name]))
        lines.append(Line("add", word, self.value(index * size)))
        return word

    def _moves(self, index: Index, loop: For, level: int) -> bool:
        """Whether a loop moves a pointer by what is known before it, from where is known before it."""
        if loop.name not in index.names():
            return False
        from_start = substituted(index, {loop.name: self.plain(loop.start)})
        return max(self.level(_coefficient(index, loop.name)), self.level(from_start)) < level

    def _moving(self, buffer: Buffer, index: IndexLike, stride: str | None, level: int) -> Word:
        """A pointer that a loop moves: set before the loop."""
        frame, size = self.frames[level], BITS[buffer.dtype] // 8
        loop = frame.loop
        assert loop is not None
        assert isinstance(index, Index)
        step = _coefficient(index, loop.name)
        word = Word()
        below = self._four_less(index, stride)
        if below is not None and stride is not None and self.home[stride] < level:
            base, apart = self._pointer(buffer, below, stride), self.stride(named(stride) * size)
            frame.before.append(Line("lea", word, memory=Memory(base, apart, ROWS_PER_POINTER)))
        else:
            with_start = substituted(index, {loop.name: self.plain(loop.start)})
            frame.before.append(Line("mov", word, self._pointer(buffer, with_start, stride)))
        frame.pointers.append((word, step * size))
        return word

    @staticmethod
    def _four_less(index: IndexLike, stride: str | None) -> IndexLike | None:
        """The index of the pointer from which a multiple of a stride leads to another; None for the first one, and those far
        from it."""
        if stride is None:
            return None
        factor = dict(terms_of(index)).get((stride,), 0)
        return index - named(stride) * ROWS_PER_POINTER if ROWS_PER_POINTER <= factor < MOST_ROWS else None


def _coefficient(index: Index, name: str) -> IndexLike:
    """What a polynomial grows by when a name does by 1."""
    terms = {}
    for names, factor in index.terms:
        if name in names:
            rest = list(names)
            rest.remove(name)
            if name in rest:
                raise OutOfRegisters("a tile program moves along a buffer by squares")
            terms[tuple(rest)] = factor
    return normal(terms)
