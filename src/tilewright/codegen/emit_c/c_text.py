"""Pieces of C text: comments, functions, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
"""An identifier or a keyword; no member behind a dot, no letter of a number."""


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
