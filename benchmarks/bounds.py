"""What each case of the tables should reach on an AVX-512 machine with one thread, and where gaps are explained.

An explanation is a section of `results/gaps.md`, written by hand, whose heading is that of `Gap.heading`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.cli.bench.contender import OWN
from tilewright.cli.bench.harness import CaseResult
from tilewright.cli.bench.table import ratio

GAPS = Path(__file__).parent / "results" / "gaps.md"


@dataclass(frozen=True, slots=True)
class Bound:
    """The least shares of the peak and of the bandwidth, and the least ratio of the best peer's time to ours."""

    share: float = 0.0
    read_share: float = 0.0
    ratio: float = 0.0


PLAIN, SOFTMAX, GEMM = Bound(share=0.92, ratio=0.98), Bound(share=0.84), Bound(ratio=0.97)
SINGLE = {
    "1024x16x500000": Bound(read_share=0.65, ratio=0.97),
    "2048x1x128": Bound(read_share=0.70, ratio=0.97),
    "35x8457x2560": Bound(share=0.70, ratio=0.97),
}


@dataclass(frozen=True, slots=True)
class Gap:
    """A case under its bound."""

    result: CaseResult
    missed: tuple[str, ...]
    """What was measured and what was wanted, for people."""

    @property
    def heading(self) -> str:
        """Of the section that explains it: `G3, plain chains, nothing prepacked`."""
        packing = "prepacked" if self.result.prepacked else "nothing prepacked"
        return f"{self.result.case}, {self.result.table.partition(',')[0]}, {packing}"


def bound_of(result: CaseResult) -> Bound:
    """By case or table."""
    if result.table.startswith("plain chains"):
        return PLAIN
    return SOFTMAX if result.table.startswith("chains with softmax") else SINGLE.get(result.case, GEMM)


def gaps(results: Sequence[CaseResult]) -> Iterator[Gap]:
    """The cases under their bounds."""
    for result in results:
        if missed := tuple(_missed(result, bound_of(result))):
            yield Gap(result, missed)


def _missed(result: CaseResult, bound: Bound) -> Iterator[str]:
    own, factor = result.timing(OWN), ratio(result)
    if own is not None and own.share is not None and own.share < bound.share:
        yield f"{own.share:.1%} of the peak ({bound.share:.0%} wanted)"
    if own is not None and own.read_share is not None and own.read_share < bound.read_share:
        yield f"{own.read_share:.1%} of the bandwidth ({bound.read_share:.0%} wanted)"
    if factor is not None and factor < bound.ratio:
        yield f"{factor:.3f} of the best peer's speed ({bound.ratio:.2f} wanted)"


def explained(results: Sequence[CaseResult], file: Path = GAPS) -> list[str]:
    """A section of a results file: every gap with its explanation's heading, or the word that it has none."""
    found = list(gaps(results))
    if not found:
        return []
    text = file.read_text() if file.exists() else ""
    headings = {line.removeprefix("## ").strip() for line in text.splitlines() if line.startswith("## ")}
    lines = [f"- {gap.heading}: {' and '.join(gap.missed)}; {_pointer(gap.heading, headings, file)}" for gap in found]
    return ["", "## Under the bound", "", *lines]


def _pointer(heading: str, headings: set[str], file: Path) -> str:
    if heading not in headings:
        return "not explained"
    anchor = "".join(character for character in heading.lower().replace(" ", "-") if character.isalnum() or character in "-_")
    return f"[explained]({file.name}#{anchor})"
