"""What the cases of the tables should reach with one thread, and where gaps are explained.

An explanation is a section of `results/gaps.md`, written by hand, whose heading is that of `Gap.heading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.cli.bench.contender import OWN
from tilewright.cli.bench.harness import CaseResult
from tilewright.cli.bench.means import geometric_mean, ratio
from tilewright.cli.bench.table import Report

GAPS = Path(__file__).parent / "results" / "gaps.md"
AVX512, AVX2 = "x86-64-v4", "x86-64-v3"
PLAIN, SOFTMAX = "plain chains", "chains with softmax"


@dataclass(frozen=True, slots=True)
class Bound:
    """The least shares of the peak and of the bandwidth, and the least ratio of the best peer's time to ours."""

    share: float = 0.0
    read_share: float = 0.0
    ratio: float = 0.0


CHAINS = {
    (AVX512, PLAIN): Bound(share=0.92, ratio=0.98),
    (AVX512, SOFTMAX): Bound(share=0.84),
    (AVX2, PLAIN): Bound(share=0.84),
    (AVX2, SOFTMAX): Bound(share=0.76),
}
PORTABLE = Bound(share=0.60)
"""Chains for any other instruction set."""
PRODUCTS = Bound(ratio=0.97)
"""Products with AVX-512."""
SINGLE_PRODUCTS = {
    "1024x16x500000": Bound(read_share=0.65, ratio=0.97),
    "2048x1x128": Bound(read_share=0.70, ratio=0.97),
    "35x8457x2560": Bound(share=0.70, ratio=0.97),
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


def bound_of(result: CaseResult, isa: str) -> Bound:
    """By kind of table, case and instruction set (a level of x86-64, or what else stands behind a machine's name)."""
    kind = _kind(result)
    if kind in (PLAIN, SOFTMAX):
        return CHAINS.get((isa, kind), PORTABLE)
    return SINGLE_PRODUCTS.get(result.case, PRODUCTS) if isa == AVX512 else Bound()


def gaps(report: Report) -> Iterator[Gap]:
    """Everything under its bound. There are no bounds for several threads: see `benchmarks.threads`."""
    if report.provenance.threads > 1:
        return
    isa = _isa(report.provenance.machine)
    for result in report.results:
        if missed := tuple(_missed(result, bound_of(result, isa))):
            yield Gap(f"{result.case}, {_where(result)}", missed)
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


def _missed(result: CaseResult, bound: Bound) -> Iterator[str]:
    own, factor = result.timing(OWN), ratio(result)
    if own is not None and own.share is not None and own.share < bound.share:
        yield f"{own.share:.1%} of the peak ({bound.share:.0%} wanted)"
    if own is not None and own.read_share is not None and own.read_share < bound.read_share:
        yield f"{own.read_share:.1%} of the bandwidth ({bound.read_share:.0%} wanted)"
    if factor is not None and factor < bound.ratio:
        yield f"{factor:.3f} of the best peer's speed ({bound.ratio:.2f} wanted)"


def _means(results: Sequence[CaseResult]) -> Iterator[Gap]:
    for where in dict.fromkeys(map(_where, results)):
        here = [result for result in results if _where(result) == where]
        ratios = [factor for result in here if (factor := ratio(result)) is not None]
        wanted = MEANS.get(_kind(here[0]), 0.0)
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
