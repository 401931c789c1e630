"""C text without what changes no code: comments, white space, the choice of identifiers, and definitions that nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

STRING = r'"(?:\\.|[^"\\])*"'
TOKEN = re.compile(rf"{STRING}|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|\S")
COMMENT = re.compile(rf"({STRING})|/\*.*?\*/|//[^\n]*", re.DOTALL)
KEPT = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
short signed sizeof static struct switch typedef union unsigned void volatile while _Bool
define undef ifdef ifndef elif endif include pragma defined GCC unroll
vector_size aligned may_alias always_inline noinline unused visibility packed optimize target
"""
"""Keywords, words of the preprocessor, and attributes; names that begin with two underscores are the compiler's, too."""
_KEPT = frozenset(KEPT.split())

EMPTY_CONDITION = re.compile(r"(?m)^#if.*\n(#(elif|else).*\n)*#endif\n")
MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]*\(\w+.*\)$")
IS_DROPPABLE = re.compile(r"static\b|typedef\b|struct\b|enum\b|[A-Z][A-Z0-9_]+ |#define|#undef")
NAMED_BY = (
    re.compile(r"#(?:define|undef) (\w+)"),
    re.compile(r"[A-Z][A-Z0-9_]*\((\w+)"),
    re.compile(r"typedef.*?(\w+)(?: __attribute__.*)?;$"),
    re.compile(r"(?:struct|enum) (\w+) \{"),
    re.compile(r"[^={]*?\b(?!__)(\w+)\s*[(\[=]"),
)
"""How definitions say their name, by kind: macros, what macros define, types, functions and variables."""


def canonical(text: str) -> str:
    """The text with identifiers numbered by their first occurrence: equal for texts that differ in names only."""
    numbers: dict[str, str] = {}
    return "\n".join(
        " ".join(numbers.setdefault(word, f"n{len(numbers)}") if is_name else word for word, is_name in _tokens(line))
        for line in readable(text).splitlines()
    )


def readable(text: str) -> str:
    """The text without comments, indentation, and definitions that nothing uses: what differences are shown of."""
    without = COMMENT.sub(lambda found: found[1] or " ", text).replace("\\\n", " ")
    lines = (" ".join(line.split()) for line in without.splitlines())
    kept = "".join(f"{line}\n" for item in _used(list(_items(filter(None, lines)))) for line in item.lines)
    while (shorter := EMPTY_CONDITION.sub("", kept)) != kept:
        kept = shorter
    return kept


@dataclass(frozen=True)
class _Item:
    """A directive, a definition or a declaration at the top level of a file."""

    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of what may be dropped where nothing uses it; "" for what others may see, and for conditions."""
        text = " ".join(self.lines)
        is_declaration = text.endswith(";") and "{" not in text
        if not (is_declaration or IS_DROPPABLE.match(text) or MACRO_CALL.match(text)):
            return ""
        return next((found[1] for pattern in NAMED_BY if (found := pattern.match(text))), "")

    def names(self) -> set[str]:
        """All that it speaks of."""
        return {word for line in self.lines for word, is_name in _tokens(line) if is_name}


def _items(lines: Iterable[str]) -> Iterator[_Item]:
    """What stands at the top level, in order."""
    item: list[str] = []
    depth = 0
    for line in lines:
        item.append(line)
        words = [word for word, _ in _tokens(line)]
        is_directive = len(item) == 1 and (line.startswith("#") or MACRO_CALL.match(line) is not None)
        depth += 0 if is_directive else words.count("{") - words.count("}")
        if is_directive or (depth == 0 and words[-1] in ";}"):
            yield _Item(tuple(item))
            item = []
    if item:
        yield _Item(tuple(item))


def _used(items: Sequence[_Item]) -> Iterator[_Item]:
    """The items that others may see, and those that they use, in their order."""
    defining: dict[str, list[_Item]] = {}
    for item in items:
        defining.setdefault(item.name, []).append(item)
    used = {""}
    left = [""]
    while left:
        for item in defining.get(left.pop(), ()):
            new = item.names() - used
            used |= new
            left += new
    return (item for item in items if item.name in used)


@lru_cache(maxsize=1 << 14)
def _tokens(line: str) -> tuple[tuple[str, bool], ...]:
    """Every token, and whether it is a name that anybody may change."""
    return tuple((word, _is_name(word)) for word in TOKEN.findall(line))


def _is_name(word: str) -> bool:
    return (word[0].isalpha() or word[0] == "_") and not word.startswith("__") and word not in _KEPT
