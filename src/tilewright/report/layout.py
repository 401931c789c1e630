"""Plain text that lines up: tables with aligned columns, labelled sections, wrapped items."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from tilewright.report import units

WIDTH = 120
LABEL_WIDTH = 10


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """One line per row; all rows have the same number of cells, aligned to the right in the column numbers of `right`.

    >>> columns([["a", "10"], ["long", "9"]], right=[1])
    ['a     10', 'long   9']
    """
    aligned_right = frozenset(right)
    padded = []
    for number, column in enumerate(zip(*rows, strict=True)):
        width = max(map(len, column))
        padded.append([cell.rjust(width) if number in aligned_right else cell.ljust(width) for cell in column])
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


def section(label: str, lines: Iterable[str]) -> list[str]:
    """Lines with the label before the first of them, indented alike; nothing if there are no lines.

    >>> section("chain", ["c = a * b", "e = c * d"])
    ['  chain       c = a * b', '              e = c * d']
    """
    labels = [label]
    return [clip(f"  {labels.pop() if labels else '':<{LABEL_WIDTH}}  {line}".rstrip()) for line in lines]


def wrapped(*texts: str) -> list[str]:
    """Texts in lines that fit into a section, all but the first of each text indented."""
    width = WIDTH - LABEL_WIDTH - 4
    return [line for text in texts for line in textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)]


def beside(head: str, text: str, most_lines: int) -> list[str]:
    """Lines of a section: the text behind the head, wrapped where it begins, and cut where it has more than so many lines.

    >>> beside("[1]  2 us", "conv relu", 3), len(beside("[1]", "conv " * 100, 3))
    (['[1]  2 us  conv relu'], 3)
    """
    width = max(WIDTH - LABEL_WIDTH - 4 - len(head) - 2, LABEL_WIDTH)
    lines = textwrap.wrap(text, width, max_lines=most_lines, placeholder=" ...", break_on_hyphens=False) or [""]
    return [f"{head}  {lines[0]}".rstrip(), *(f"{'':{len(head)}}  {line}" for line in lines[1:])]


def clip(line: str) -> str:
    """The line, cut at the width of a page, with an ellipsis where something is missing; whole where it may end in a time that
    says that it is predicted."""
    return line if len(line) <= WIDTH or units.predicts() else line[: WIDTH - 3] + "..."
