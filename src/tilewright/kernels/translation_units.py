"""Translation units of single functions: of the dialect's vocabulary, only the definitions that a text uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from tilewright.errors import InternalError
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.records import record

VARIANT = """\
#ifndef TW_VARIANT
#define TW_VARIANT static __attribute__((noinline))
#endif
"""
"""How the function of one shape is declared: whoever includes the text may have it inlined."""
WEAK = "__attribute__((weak))"
"""Several objects of a library may define the function: their definitions are equal, and any of them is taken."""
EXTERNAL = f"#define TW_VARIANT {WEAK}\n"
"""The function is for callers in other translation units of the library."""

WORD = re.compile(r"\w+")
NAMES = re.compile(
    r"^#define (\w+)"  # macros
    r"|^TW_INLINE [\w ]+?\*?(\w+)\("  # functions
    r"|^typedef [^;]*?(\w+)(?: __attribute__[^;]*)?;"  # types
    r"|^TW_\w+\((\w+),",  # functions that a macro defines
    re.MULTILINE,
)
"""What a definition defines."""
OPENED, CLOSED = ("{", "(", "/*"), ("}", ")", "*/")
DEFINE, UNDEFINE = "#define", "#undef"
OPENING, CLOSING = re.compile(r"#if"), re.compile(r"#endif")


@record
class Definition:
    """Lines that stand or fall together: a function, a type, a macro, or a conditional with all that is in it."""

    text: str
    names: frozenset[str]
    """What it defines; nothing where its form is not known: it then always stays."""
    words: frozenset[str]
    """Every identifier in it."""


def unit_text(dialect: VectorDialect, texts: Iterable[str]) -> str:
    """The C of a translation unit whose functions of shapes are external."""
    text = "\n".join(texts)
    return "".join((*used_definitions(dialect.prelude, text), EXTERNAL, text))


def joined(texts: Iterable[str]) -> str:
    """One translation unit for several: definitions that they have in common stand there once.

    Legal because definitions of one name are equal in all of them: they follow from the same vocabulary. Two functions of one
    name are an error of the compiler, two macros raise `InternalError`. Macros stay defined for the texts behind the first. The
    start of GCC 12 takes 8 to 15 ms, a third of the time for a tile shape.

    >>> texts = [f"static int x;\\nint {name}(void) {{ return x; }}\\n" for name in "fg"]
    >>> joined(texts).count("static int x;")
    1
    """
    blocks = ["".join(lines) for text in texts for lines in _blocks(text.splitlines(keepends=True))]
    _check_macros(blocks)
    first = {block: number for number, block in reversed([*enumerate(blocks)])}
    kept = (block for number, block in enumerate(blocks) if first[block] == number or block.startswith(DEFINE))
    return "".join(block for block in kept if not block.startswith(UNDEFINE))


def _check_macros(blocks: Iterable[str]) -> None:
    """Raise `InternalError` for a macro with two definitions: a function of equal text would mean two things."""
    defined: dict[str, str] = {}
    for block in (block for block in blocks if block.startswith(DEFINE)):
        name = WORD.findall(block)[1]
        if defined.setdefault(name, block) != block:
            raise InternalError(f"two kernels of one object define the macro {name} in different ways", dump=block)


def joinable(texts: Sequence[str]) -> list[list[int]]:
    """The positions of texts in groups that may be joined: those of two dialects, whose definitions differ, are in two groups.

    >>> joinable(["#define LANES 8\\n", "#define LANES 16\\n", "int x;\\n", "#define LANES 8\\n#define ROWS 4\\n"])
    [[0, 2, 3], [1]]
    >>> joinable(["TW_INLINE int one(void) { return 1; }\\n", "TW_INLINE int one(void) { return 2 - 1; }\\n"])
    [[0], [1]]
    """
    groups: list[tuple[dict[str, str], list[int]]] = []
    for number, text in enumerate(texts):
        own = _defined(text)
        for defined, members in groups:
            if all(defined.get(name, block) == block for name, block in own.items()):
                defined.update(own)
                members.append(number)
                break
        else:
            groups.append((own, [number]))
    return [members for _, members in groups]


def _defined(text: str) -> dict[str, str]:
    """What a text defines: names, each with its definition."""
    blocks = ("".join(lines) for lines in _blocks(text.splitlines(keepends=True)))
    return {name: block for block in blocks for found in NAMES.findall(block) for name in found if name}


def used_definitions(prelude: str, text: str) -> list[str]:
    """The definitions of a prelude that a text uses, and those that these use, in their order.

    >>> from tilewright.kernels import dialect_for
    >>> prelude = dialect_for("any", frozenset()).prelude
    >>> any("tw_sqrt(" in found for found in used_definitions(prelude, "tw_load(p)"))
    False
    """
    found, by_name = definitions(prelude), _by_name(prelude)
    kept: set[int] = set()
    wanted = set(WORD.findall(text)).union(*(definition.words for definition in found if not definition.names))
    while wanted:
        fresh = {place for name in wanted for place in by_name.get(name, ())} - kept
        kept |= fresh
        wanted = {word for place in fresh for word in found[place].words}
    return [definition.text for place, definition in enumerate(found) if place in kept or not definition.names]


def used_prelude(prelude: str, text: str) -> str:
    """The same with the guard, by whose macro a text asks for the dialect."""
    ifndef, define, _ = prelude.split("\n", 2)
    return "".join((ifndef, "\n", define, "\n", *used_definitions(prelude, text), "#endif\n"))


@lru_cache(maxsize=32)
def definitions(prelude: str) -> tuple[Definition, ...]:
    """What a prelude consists of, without the guard around all of it."""
    guard, _, rest = prelude.partition("#define")
    body = rest.partition("\n")[2].removesuffix("#endif\n") if guard.startswith("#ifndef") else prelude
    return tuple(_definition("".join(lines)) for lines in _blocks(body.splitlines(keepends=True)))


@lru_cache(maxsize=32)
def _by_name(prelude: str) -> dict[str, list[int]]:
    """The places of definitions by what they define. Not these themselves: threads that ask at once may get equal ones each."""
    named: dict[str, list[int]] = {}
    for place, definition in enumerate(definitions(prelude)):
        for name in definition.names:
            named.setdefault(name, []).append(place)
    return named


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines that belong together: conditionals, continued lines, comments, and what is between braces or parentheses."""
    block: list[str] = []
    conditions = inside = 0
    for line in lines:
        block.append(line)
        conditions += bool(OPENING.match(line)) - bool(CLOSING.match(line))
        inside += sum(map(line.count, OPENED)) - sum(map(line.count, CLOSED))
        if not conditions and not inside and not line.endswith("\\\n"):
            yield block
            block = []
    if block:
        yield block


def _definition(text: str) -> Definition:
    names = frozenset(name for found in NAMES.findall(text) for name in found if name)
    return Definition(text, names, frozenset(WORD.findall(text)))
