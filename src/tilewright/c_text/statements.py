"""Text of C: comments, functions, the words of lines, and loops."""

from __future__ import annotations

import re
from collections.abc import Iterable

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
"""An identifier or a keyword; no member behind a dot, no letter of a number."""
DECLARED = re.compile(
    r"\b(?:long|int|float|double|char|short|unsigned|tw_\w+)\s+\*?\s*(?:const\s+)?([A-Za-z_]\w*)\s*(?=[=;,\[)])"
)
"""The variable of a declaration."""


def comment(lines: Iterable[str]) -> str:
    """A block comment, a line of text a line."""
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


def function(signature: str, lines: Iterable[str]) -> str:
    """A definition, with an empty line behind it."""
    return "\n".join([f"{signature} {{", *indent(lines), "}", ""])


def indent(lines: Iterable[str]) -> list[str]:
    """One step to the right."""
    return [f"  {line}" for line in lines]


def words(lines: Iterable[str]) -> frozenset[str]:
    """All identifiers and keywords in statements, those of comments left out."""
    return frozenset(WORD.findall(COMMENT.sub("", "\n".join(lines))))


def without_names(text: str, names: Iterable[str] = ()) -> str:
    """The text with numbers for these names and for those of variables that it declares.

    >>> without_names("const long at_m = 1; f(at_m, n);") == without_names("const long at_k = 1; f(at_k, n);")
    True
    >>> without_names("const long m = 1; f(m, n);") == without_names("const long m = 1; f(n, n);")
    False
    """
    local_names = {*names, *DECLARED.findall(text)}
    numbers: dict[str, str] = {}
    return WORD.sub(lambda word: numbers.setdefault(word[0], f"${len(numbers)}") if word[0] in local_names else word[0], text)
