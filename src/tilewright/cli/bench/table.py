"""Results as a table for people and as a document for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

from tilewright.cli.bench.harness import CaseResult, Timing
from tilewright.cli.bench.provenance import Provenance
from tilewright.report import units
from tilewright.report.layout import columns

OWN = "tilewright"


@dataclass(frozen=True, slots=True)
class Report:
    """One run of the benchmark."""

    provenance: Provenance
    results: tuple[CaseResult, ...]

    def as_document(self) -> dict[str, Any]:
        """Everything, ready for JSON; times in seconds, errors relative to the largest result."""
        results = [
            {
                **dataclasses.asdict(result),
                "timings": [_timing_document(timing) for timing in result.timings],
            }
            for result in self.results
        ]
        return {"provenance": dataclasses.asdict(self.provenance), "results": results}

    def as_text(self) -> str:
        """One table for the plain chains and one for those with softmax."""
        lines, threads = self.provenance.lines(), self.provenance.threads
        peak = "the peak" if threads == 1 else f"{threads} times one core's peak"
        for softmax, title in ((False, "plain chains"), (True, "chains with softmax")):
            results = [result for result in self.results if result.softmax is softmax]
            if results:
                lines += [
                    "",
                    f"{title}: ms per call (share of {peak} measured beside it)",
                    *_table(results, threads),
                ]
        return "\n".join([*lines, *_failures(self.results)])

    def wrong(self) -> tuple[str, ...]:
        """The cases for which our own result is wrong."""
        return tuple(result.case for result in self.results if (own := result.timing(OWN)) is not None and own.seconds is None)


def ratio(result: CaseResult) -> float | None:
    """The best peer's time over ours: above 1 we are faster. None without a peer."""
    own, best = result.timing(OWN), result.best_peer(OWN)
    if own is None or own.seconds is None or best is None or best.seconds is None:
        return None
    return best.seconds / own.seconds


def geometric_mean(values: Sequence[float]) -> float:
    """The mean for ratios.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return exp(sum(map(log, values)) / len(values))


def _table(results: Sequence[CaseResult], threads: int) -> list[str]:
    names = list(dict.fromkeys(timing.contender for result in results for timing in result.timings if not timing.failure))
    rows = [["case", "peak GFLOP/s", *names, "best peer", "peer/ours"]]
    for result in results:
        best, faster = result.best_peer(OWN), ratio(result)
        cells = [_cell(result, result.timing(name), threads) for name in names]
        shown = f"{faster:.2f}" if faster is not None else "-"
        rows.append(
            [result.case, units.three_digits(result.peak_flops_per_s / 1e9), *cells, best.contender if best else "-", shown]
        )
    ratios = [value for result in results if (value := ratio(result)) is not None]
    mean = [f"geometric mean of peer/ours: {geometric_mean(ratios):.2f}"] if ratios else []
    return [*columns(rows, right=[1, len(rows[0]) - 1]), *mean]


def _cell(result: CaseResult, timing: Timing | None, threads: int) -> str:
    if timing is None:
        return "-"
    if timing.seconds is None:
        return f"WRONG by {timing.error:.1g}"
    share = result.flops / timing.seconds / (result.peak_flops_per_s * threads)
    return f"{units.three_digits(timing.seconds * 1e3)} ({units.percent(share)})"


def _failures(results: Sequence[CaseResult]) -> list[str]:
    failures = dict.fromkeys(
        f"{timing.contender} took no part: {timing.failure}" for result in results for timing in result.timings if timing.failure
    )
    return ["", *failures] if failures else []


def _timing_document(timing: Timing) -> dict[str, Any]:
    document = dataclasses.asdict(timing)
    return {**document, "error": timing.error if timing.error != float("inf") else None}
