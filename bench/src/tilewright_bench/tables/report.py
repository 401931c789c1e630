"""Results as tables for people and as a document for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.report import units
from tilewright.report.layout import columns
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.measurement.provenance import Provenance
from tilewright_bench.tables import required_table
from tilewright_bench.tables.means import geometric_mean, ratio

STOCK = "torch"
"""The contenders of this name, and of names that begin with it and a space, are PyTorch as its users have it."""


SHOWN_READ_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Report:
    """One run of the benchmark."""

    provenance: Provenance
    results: tuple[CaseResult, ...]

    def as_document(self) -> dict[str, Any]:
        """Everything, ready for JSON; times in seconds, errors relative to the largest result (null: infinite)."""
        results = [
            {
                **dataclasses.asdict(result),
                "timings": [_timing_document(timing) for timing in result.timings],
            }
            for result in self.results
        ]
        return {"provenance": dataclasses.asdict(self.provenance), "results": results}

    def as_text(self) -> str:
        """A table for each kind of case and packing."""
        lines, everyone = self.provenance.lines(), {result.case: result for result in self.results}
        for title in dict.fromkeys(result.table for result in self.results):
            results = [result for result in self.results if result.table == title]
            with_requirements = results[0].required is not None
            lines += ["", *(required_table.table(title, results, everyone) if with_requirements else self._table(title, results))]
        return "\n".join([*lines, *self.failures()])

    def failures(self) -> list[str]:
        """A line for each reason for which a contender took no part."""
        return _failures(self.results)

    def _table(self, title: str, results: Sequence[CaseResult]) -> list[str]:
        threads = self.provenance.threads
        bound = "the peak or the read" if threads == 1 else f"{threads} times one core's peak or read"
        heading = f"{title}: {_unit(results)[1]} per call (in brackets: share of {bound} beside it, whichever limits more)"
        return [heading, *_table(results)]

    def wrong(self) -> tuple[str, ...]:
        """The cases for which the result of Tilewright is wrong; one that could not be computed has a reason instead."""
        ours = [(result.case, timing) for result in self.results for timing in result.timings if timing.is_tilewright]
        return tuple(dict.fromkeys(case for case, timing in ours if timing.seconds is None and not timing.failure))


def stock_ratio(result: CaseResult) -> float | None:
    """The time of PyTorch as its users have it over ours, of its fastest variant. None where it took no part."""
    stock = [timing.to_own for timing in result.timings if timing.contender == STOCK or timing.contender.startswith(f"{STOCK} ")]
    return min((value for value in stock if value is not None), default=None)


def _table(results: Sequence[CaseResult]) -> list[str]:
    names = list(dict.fromkeys(timing.contender for result in results for timing in result.timings if not timing.failure))
    rows = [["case", "peak", "read", *names, "best peer", "peer/ours", "torch/ours"]]
    for result in results:
        best = result.best_peer()
        cells = [_cell(result, result.timing(name), _unit(results)[0]) for name in names]
        last = [best.contender if best else "-", _factor(ratio(result)), _factor(stock_ratio(result))]
        rows.append([result.case, units.flop_rate(result.peak_flops_per_s), _read(result), *cells, *last])
    width = len(rows[0])
    return [*columns(rows, right=[1, width - 2, width - 1]), *_means(results)]


def _means(results: Sequence[CaseResult]) -> list[str]:
    peers = [value for result in results if (value := ratio(result)) is not None]
    stock = [value for result in results if (value := stock_ratio(result)) is not None]
    means = [f"{name} {geometric_mean(values):.3f}" for name, values in (("peer/ours", peers), ("torch/ours", stock)) if values]
    return [f"geometric means: {', '.join(means)}"] if means else []


def _unit(results: Sequence[CaseResult]) -> tuple[float, str]:
    """Milliseconds, or microseconds where all cases are shorter than a tenth of one."""
    seconds = [timing.seconds for result in results for timing in result.timings if timing.seconds is not None]
    return (1e-6, "us") if seconds and max(seconds) < 1e-4 else (1e-3, "ms")


def _read(result: CaseResult) -> str:
    """The level and its bandwidth, with our share of it where the bytes count: next to nothing in most products."""
    timing = result.timing(TILEWRIGHT)
    share = timing.read_share if timing is not None else None
    shown = f" ({share:.1%})" if share is not None and share >= SHOWN_READ_SHARE else ""
    return f"{result.level} {units.byte_rate(result.bandwidth_bytes_per_s)}{shown}"


def _cell(result: CaseResult, timing: Timing | None, unit_s: float) -> str:
    if timing is None or timing.failure:
        return "-"
    share = result.bound_share(timing)
    if timing.seconds is None or share is None:
        return f"WRONG by {timing.error:.1g}"
    return f"{_digits(timing.seconds / unit_s)} ({share:.1%})"


def _digits(value: float) -> str:
    """Three significant ones for times from a tenth of the unit on."""
    return units.three_digits(value) if value >= 1 else f"{value:.3f}"


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _failures(results: Sequence[CaseResult]) -> list[str]:
    failed = [(result, timing) for result in results for timing in result.timings if timing.failure]
    failures = dict.fromkeys(
        f"{timing.contender} took no part{_in_case(result, timing)}: {timing.failure}" for result, timing in failed
    )
    return ["", *failures] if failures else []


def _in_case(result: CaseResult, timing: Timing) -> str:
    """Which case, for timings of Tilewright."""
    return f" in {result.case}" if timing.contender == TILEWRIGHT else ""


def _timing_document(timing: Timing) -> dict[str, Any]:
    document = dataclasses.asdict(timing)
    return {**document, "error": timing.error if timing.error != float("inf") else None}
