"""Text of C: comments, functions, the words of lines, and loops."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.memory import Range, View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import pointer, to_c
from tilewright.records import record

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


Lines = list[str]


def braced(head: str, lines: Iterable[str]) -> Lines:
    """Lines in braces, behind what says when they run, or how often."""
    return [f"{head} {{", *indent(lines), "}"]


def loop(axis: str, start: str, end: str, body: Lines) -> Lines:
    """A loop along an axis, point by point."""
    index = names.axis_offset(axis)
    return braced(f"for (long {index} = {start}; {index} < {end}; {index}++)", body)


@record
class PointStatements:
    """The statements of a map or a row-wise reduction at one point of its loops."""

    loops: VectorLoops

    @property
    def reduced(self) -> tuple[str, ...]:
        """The reduction axes."""
        return tuple(axis.name for axis in self.loops.operator.reduction_axes())

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of every axis."""
        return dict(self.loops.box)

    def nest(self, axes: Iterable[str], body: Lines) -> Lines:
        """Loops point by point."""
        for axis in reversed(list(axes)):
            if self.ranges[axis].size != 1:
                body = loop(axis, "0", to_c(self.ranges[axis].size), body)
        return body

    def address(self, view: View) -> str:
        """The pointer to the current point."""
        return pointer(view.buffer, view.offset + self.shift(view.strides))

    def shift(self, strides: Iterable[tuple[str, IntegerExpression]], fixed: Container[str] = ()) -> IntegerExpression:
        """Elements from the start of the box to the current point, along all axes but those that are fixed."""
        return sum(self.offset(axis) * stride for axis, stride in strides if axis not in fixed)

    def offset(self, axis: str) -> IntegerExpression:
        """The position inside the box, 0 along axes of one point (which have no loop)."""
        return 0 if self.ranges[axis].size == 1 else Variable(VariableKind.POINT, axis)

    def first_position(self, axis: str) -> str:
        """The absolute position along an axis, of the first lane if it is of a vector."""
        return to_c(self.ranges[axis].start + self.offset(axis))
