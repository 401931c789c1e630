"""docs/onnx-conformance.md, made of the outcomes of all cases; the table of the README is its first part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.conformance.cases import KINDS, Case
from tests.conformance.expected import IN_PARTS, NOT_SUPPORTED, TOLERANCES
from tests.conformance.outcome import COMPILED, NUMPY, UNSUPPORTED, WRONG, Outcome
from tilewright.frontend.onnx.definition import definitions

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/onnx-conformance.md"
README = ROOT / "README.md"
TABLE = re.compile(r"^\| \| cases \|.*\n(?:\|.*\n?)+", re.MULTILINE)
"""The lines of the table in a text."""
COLUMNS = (COMPILED, NUMPY, UNSUPPORTED)
Outcomes = Mapping[Case, Outcome]


def table(outcomes: Outcomes) -> str:
    """Markdown: a line per kind of case, a column per outcome, and one of wrong results if there are any."""
    is_wrong = any(one.result == WRONG for one in outcomes.values())
    columns = (*COLUMNS, WRONG) if is_wrong else COLUMNS
    lines = [f"| | cases | {' | '.join(columns)} |", f"|---|{'---:|' * (len(columns) + 1)}"]
    for kind in KINDS:
        results = [one.result for case, one in outcomes.items() if case.kind == kind]
        if results:
            counts = " | ".join(str(results.count(column)) for column in columns)
            lines.append(f"| {kind} | {len(results)} | {counts} |")
    return "\n".join(lines)


def tabulated(text: str) -> dict[str, tuple[int, ...]]:
    """The numbers of the one table in a text, by kind of case."""
    (lines,) = TABLE.findall(text)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()[2:]]
    return {kind: tuple(map(int, numbers)) for kind, *numbers in rows}


def with_table(text: str, outcomes: Outcomes) -> str:
    """A text with the table of these outcomes in the place of the one that it has."""
    return TABLE.sub(table(outcomes) + "\n", text)


@cache
def reference_only() -> frozenset[str]:
    """Operators of the package, not of tests beside this one, whose newest version has no lowering."""
    defined = (one for one in definitions() if one.implementation.__module__.startswith("tilewright."))
    newest = {(one.domain, one.name): one for one in defined}
    return frozenset(one.name for one in newest.values() if not one.has_lowering)


def page(outcomes: Outcomes) -> str:
    """The whole page."""
    parts = (_introduction(outcomes), _not_supported(outcomes), _in_parts(outcomes), _reference_only(), _tolerances())
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _introduction(outcomes: Outcomes) -> Iterator[str]:
    yield "# Conformance with ONNX\n"
    yield "What becomes of the cases of `onnx.backend.test` (onnx 1.23). Made by `python -m tests.conformance --table`; a test at"
    yield "every change keeps cases in their columns. *Compiled*: generated code alone; *with NumPy*: some operator runs as its"
    yield "reference implementation between compiled parts.\n"
    yield table(outcomes)


def _not_supported(outcomes: Outcomes) -> Iterator[str]:
    yield "## Not supported\n"
    missing = [case for case, one in outcomes.items() if one.result == UNSUPPORTED]
    yield from (f"- `{case.name}`: {NOT_SUPPORTED.get(case.name, outcomes[case].reason)}" for case in missing)
    if not missing:
        yield "Nothing."


def _in_parts(outcomes: Outcomes) -> Iterator[str]:
    counts = Counter(name for one in outcomes.values() for name in one.numpy_operators)
    yield "## Operators that are compiled, but not in every case\n"
    yield "| | cases as NumPy | why |\n|---|---:|---|"
    yield from (f"| {name} | {counts[name]} | {IN_PARTS.get(name, '')} |" for name in sorted(counts.keys() - reference_only()))


def _reference_only() -> Iterator[str]:
    yield "## Operators that have no lowering\n"
    yield names_without_lowering()


def names_without_lowering() -> str:
    """The operators that always run as NumPy, as the page lists them."""
    return ", ".join(sorted(reference_only())) + "."


def _tolerances() -> Iterator[str]:
    yield "## Tolerances wider than the suite's\n"
    yield from (f"- `{name}`: {rtol:.2g}, {reason}." for name, (rtol, reason) in TOLERANCES.items())
