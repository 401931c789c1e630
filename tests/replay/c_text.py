"""C text without what no compiler sees: comments, white space, and the choice of identifiers."""

from __future__ import annotations

import re
from functools import lru_cache

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|\S')
COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)
KEPT = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
short signed sizeof static struct switch typedef union unsigned void volatile while _Bool
define undef ifdef ifndef elif else endif include pragma defined GCC unroll
vector_size aligned may_alias always_inline noinline unused visibility packed optimize target
"""
"""Keywords, words of the preprocessor, and attributes; names that begin with two underscores are the compiler's, too."""
_KEPT = frozenset(KEPT.split())


def readable(text: str) -> str:
    """The text without comments, blank lines and indentation: what a difference is shown of."""
    without = COMMENT.sub(lambda found: found[1] or " ", text).replace("\\\n", " ")
    lines = (" ".join(line.split()) for line in without.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def canonical(text: str) -> str:
    """The same with identifiers numbered by their first occurrence: equal for texts that differ in names only."""
    numbers: dict[str, str] = {}
    return "\n".join(
        " ".join(numbers.setdefault(word, f"n{len(numbers)}") if is_name else word for word, is_name in _tokens(line))
        for line in readable(text).splitlines()
    )


@lru_cache(maxsize=1 << 14)
def _tokens(line: str) -> tuple[tuple[str, bool], ...]:
    """Every token, and whether it is a name that anybody may change."""
    return tuple((word, _is_name(word)) for word in TOKEN.findall(line))


def _is_name(word: str) -> bool:
    return (word[0].isalpha() or word[0] == "_") and not word.startswith("__") and word not in _KEPT
