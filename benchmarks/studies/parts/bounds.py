"""What the cases of the tables should reach with one thread, and where gaps are explained.

An explanation is a section of `results/gaps.md`, written by hand, whose heading is that of `Gap.heading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright_bench.cases.required import Required, missed
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.tables import required_table
from tilewright_bench.tables.means import geometric_mean, ratio
from tilewright_bench.tables.report import Report

GAPS = Path(__file__).parents[2] / "results" / "gaps.md"
AVX512, AVX2 = "x86-64-v4", "x86-64-v3"
PLAIN, SOFTMAX = "plain chains", "chains with softmax"


CHAINS = {
    (AVX512, PLAIN): Required(share=0.92, ratio=0.98),
    (AVX512, SOFTMAX): Required(share=0.84),
    (AVX2, PLAIN): Required(share=0.84),
    (AVX2, SOFTMAX): Required(share=0.76),
}
PORTABLE = Required(share=0.60)
"""Chains for any other instruction set."""
PRODUCTS = Required(ratio=0.97)
"""Products with AVX-512."""
SINGLE_PRODUCTS = {
    "1024x16x500000": Required(read_share=0.65, ratio=0.97),
    "2048x1x128": Required(read_share=0.70, ratio=0.97),
    "35x8457x2560": Required(share=0.70, ratio=0.97),
}
MEANS = {PLAIN: 1.04, SOFTMAX: 1.10}
"""The least geometric means of the ratios of all of Table IV with AVX-512."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A case, or the mean of a table, under its bound."""

    heading: str
    """Of the section that explains it: `G3, plain chains, nothing prepacked`."""
    missed: tuple[str, ...]
    """What was measured and what was wanted, for people."""


def bound_of(result: CaseResult, isa: str) -> Required:
    """Of chains and products: by kind of table, case and instruction set (a level of x86-64, or what ends the machine's name)."""
    kind = _kind(result)
    if kind in (PLAIN, SOFTMAX):
        return CHAINS.get((isa, kind), PORTABLE)
    return SINGLE_PRODUCTS.get(result.case, PRODUCTS) if isa == AVX512 else Required()


def gaps(report: Report) -> Iterator[Gap]:
    """Everything under its bound. There are no bounds for several threads: see `benchmarks.studies.threads`."""
    if report.provenance.threads > 1:
        return
    isa = _isa(report.provenance.machine)
    everyone = {result.case: result for result in report.results}
    for result in report.results:
        if shortfalls := tuple(_missed(result, everyone.get(result.even), isa)):
            yield Gap(f"{result.case}, {_where(result)}", shortfalls)
    if isa == AVX512:
        yield from _means(report.results)


def explained(report: Report, file: Path = GAPS) -> list[str]:
    """A section of a results file: every gap with its explanation's place, or the words that it has none."""
    found = list(gaps(report))
    if not found:
        return []
    text = file.read_text() if file.exists() else ""
    headings = {line.removeprefix("## ").strip() for line in text.splitlines() if line.startswith("## ")}
    lines = [f"- {gap.heading}: {' and '.join(gap.missed)}; {_pointer(gap.heading, headings, file)}" for gap in found]
    return ["", "## Under the bound", "", *lines]


def _missed(result: CaseResult, even: CaseResult | None, isa: str) -> Sequence[str]:
    if result.required is not None:
        return required_table.shortfalls(result, even) if isa == AVX512 else ()
    own = result.timing(TILEWRIGHT)
    shares = (own.share, own.read_share) if own is not None else (None, None)
    return list(missed(bound_of(result, isa), *shares, ratio(result)))


def _means(results: Sequence[CaseResult]) -> Iterator[Gap]:
    for where in dict.fromkeys(map(_where, results)):
        here = [result for result in results if _where(result) == where]
        ratios = [factor for result in here if (factor := ratio(result)) is not None]
        wanted = required_table.MEANS.get(here[0].table) or MEANS.get(_kind(here[0]), 0.0)
        if ratios and (mean := geometric_mean(ratios)) < wanted:
            yield Gap(f"geometric mean, {where}", (f"{mean:.3f} of the best peers' speed ({wanted:.2f} wanted)",))


def _kind(result: CaseResult) -> str:
    return result.table.partition(",")[0]


def _where(result: CaseResult) -> str:
    return f"{_kind(result)}, {'prepacked' if result.prepacked else 'nothing prepacked'}"


def _isa(machine: str) -> str:
    """What stands in parentheses at the end of a machine's name."""
    found = re.search(r"\(([^()]*)\)$", machine)
    return found.group(1) if found else ""


def _pointer(heading: str, headings: set[str], file: Path) -> str:
    if heading not in headings:
        return "not explained"
    anchor = "".join(character for character in heading.lower().replace(" ", "-") if character.isalnum() or character in "-_")
    return f"[explained]({file.name}#{anchor})"
