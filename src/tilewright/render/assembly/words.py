"""Integers of a function in assembly: words that registers or places on the stack hold, and lines of code that use them.

Code is first written in lines over words. Then every word gets a register for as long as it is needed, those that inner loops use
most before others; the rest lie on the stack, from where `rax`, which holds none, fetches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tilewright.errors import UnsupportedOperation

SCRATCH = "rax"
ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
"""Of the System V calling convention."""
CALLEE_SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
ORDER = ("r10", "r11", *reversed(ARGUMENTS), *CALLEE_SAVED)
"""Registers, those first that cost nothing to use."""
RED_ZONE_BYTES = 128
"""Below the stack pointer, which a function that calls none may use."""
DIVISION_BYTES = 24
"""Of them, the last ones, for divisions."""
FRAME, PUSHED = "{frame}", "{pushed}"
"""In texts the bytes that the stack grows by for words, and those with all that is pushed before."""
LOOP_WEIGHT = 16
"""How much more a use counts for every loop around it."""
ENTER, LEAVE = "enter", "leave"
"""Operations of lines that mark the start and the end of what a loop repeats."""
LOAD = "load"
"""The operation of a line that reads a word from memory."""
SCRATCH_MEMORY = "scratch memory"
"""The operation of a line whose word gets the address of scratch memory, so many bytes behind where that begins."""
LINE_BYTES = 64
"""What scratch memory is aligned to."""


class OutOfRegisters(UnsupportedOperation):
    """A program that registers do not hold."""


class Word:
    """An integer of 64 bits."""

    __slots__ = ("arrival", "first", "last", "register", "slot", "weight")

    def __init__(self, arrival: str = "", slot: str = "") -> None:
        """A new one; with an `arrival` or a `slot` an argument, which comes in this register or at this place of the stack."""
        self.arrival, self.slot, self.register = arrival, slot, ""
        self.weight = 0
        self.first = self.last = -1

    @property
    def is_argument(self) -> bool:
        """Whether the function is given it."""
        return bool(self.arrival) or PUSHED in self.slot

    @property
    def text(self) -> str:
        """As operands of instructions name it."""
        return self.register or f"qword ptr [{self.slot}]"


Operand: TypeAlias = Word | int


class Memory:
    """An address: base + index * scale + displacement."""

    __slots__ = ("base", "displacement", "index", "scale")

    def __init__(self, base: Word, index: Word | None = None, scale: int = 1, displacement: int = 0) -> None:
        self.base, self.index, self.scale, self.displacement = base, index, scale, displacement


class Line:
    """An instruction: `operation` on `to` and `source` or `memory`; or a whole `text`, with a place for `memory` or for `to`."""

    __slots__ = ("memory", "operation", "source", "text", "to")

    def __init__(
        self,
        operation: str,
        to: Word | None = None,
        source: Operand | None = None,
        memory: Memory | None = None,
        text: str = "",
    ) -> None:
        self.operation, self.to, self.source, self.memory, self.text = operation, to, source, memory, text

    def words(self) -> Iterator[Word]:
        """All that it reads or writes."""
        if self.to is not None:
            yield self.to
        if isinstance(self.source, Word):
            yield self.source
        if self.memory is not None:
            yield self.memory.base
            if self.memory.index is not None:
                yield self.memory.index


def place(lines: Sequence[Line]) -> int:
    """Give every word of some lines a register, or a place on the stack; how many bytes the stack has to grow by for them."""
    words = _measured(lines)
    taken: dict[str, list[Word]] = {register: [] for register in ORDER}
    slots = 0
    for word in sorted(words, key=lambda one: -one.weight):
        word.register = next((one for one in _possible(word) if _is_free(taken[one], word)), "")
        if word.register:
            taken[word.register].append(word)
        elif not word.slot:
            slots += 1
            word.slot = f"rsp + {FRAME} - {8 * slots}"
    return 0 if 8 * slots <= RED_ZONE_BYTES - DIVISION_BYTES else 8 * slots


def with_scratch(word_bytes: int, scratch_bytes: int) -> int:
    """How many bytes the stack grows by for words and scratch memory, which lies below all words, those of the red zone, too."""
    if not scratch_bytes:
        return word_bytes
    return scratch_bytes + LINE_BYTES + max(word_bytes, RED_ZONE_BYTES)


def _possible(word: Word) -> Sequence[str]:
    """Registers for a word: an argument stays where it arrives."""
    if word.is_argument:
        return (word.arrival,) if word.arrival else ()
    return ORDER


def _is_free(others: Sequence[Word], word: Word) -> bool:
    """Whether none of the words in a register is needed meanwhile."""
    return not any(other.first < word.last and word.first < other.last for other in others)


def _measured(lines: Sequence[Line]) -> list[Word]:
    """All words, with first and last uses, and weights; what comes from outside a loop is needed until its end."""
    words: list[Word] = []
    loops: list[tuple[int, list[Word]]] = []
    weight = 1
    for number, line in enumerate(lines):
        if line.operation == ENTER:
            loops.append((number, []))
            weight *= LOOP_WEIGHT
        elif line.operation == LEAVE:
            weight //= LOOP_WEIGHT
            _leave(loops, number)
        for word in line.words():
            if word.first < 0:
                word.first = 0 if word.is_argument else number
                words.append(word)
            word.last = number
            word.weight += weight
            if loops and word.first < loops[-1][0]:
                loops[-1][1].append(word)
    return words


def _leave(loops: list[tuple[int, list[Word]]], number: int) -> None:
    _, used = loops.pop()
    for word in used:
        word.last = number
        if loops and word.first < loops[-1][0]:
            loops[-1][1].append(word)
