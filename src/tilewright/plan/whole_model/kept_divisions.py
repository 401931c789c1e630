"""Divisions that are kept between processes: groups of equal structure are searched once per machine.

What is kept of a group holds for exactly that group, machine and coefficients, and gives the division that a search gives: no
plan depends on whether it was found. Loops of a part become a schedule with a price and figures when these are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tilewright.graph import data_format
from tilewright.graph.types import Chain
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.types import Cut, Price
from tilewright.records import record


class Answers(Protocol):
    """Where answers of planning are kept, by the text of their question."""

    def find(self, question: str) -> bytes | None:
        """The answer to a question; None where there is none."""

    def keep(self, question: str, answer: Callable[[], bytes]) -> None:
        """Take the answer to a question, to be asked for later: it raises `Unreadable` where files have no place for it."""


@record
class KeptPart:
    """A part of a division: its operators by name, its price, and the candidates of its search, the winner first.

    There are no candidates where nothing was searched: of exact operators.
    """

    operators: tuple[str, ...]
    price: Price
    found: tuple[Candidate, ...]


@record
class KeptDivision:
    """A division in the names of its canonical chain."""

    parts: tuple[KeptPart, ...]
    cuts: tuple[Cut, ...]
    alone: tuple[tuple[str, Price], ...]


def read(answers: Answers, question: str, chain: Chain) -> KeptDivision | None:
    """The division of a canonical chain that is kept; None where there is none, or none of its operators."""
    content = answers.find(question)
    if content is None:
        return None
    try:
        kept = data_format.decode(content, KeptDivision)
    except data_format.Unreadable:
        return None
    names = [name for part in kept.parts for name in part.operators]
    return kept if sorted(names) == sorted(operator.name for operator in chain.operators) else None


def write(answers: Answers, question: str, kept: Callable[[], KeptDivision]) -> None:
    """Keep a division; one with a reason or a figure that files have no place for is searched again."""
    answers.keep(question, lambda: data_format.encode(kept(), KeptDivision))
