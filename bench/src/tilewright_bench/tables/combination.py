"""One report of several processes that measured the same: medians over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.tables.report import Report


def combined(reports: Sequence[Report]) -> Report:
    """The medians of every figure; a contender that was wrong or failed in one process counts as that."""
    results = tuple(_case(results) for results in zip(*(report.results for report in reports), strict=True))
    return Report(replace(reports[0].provenance, processes=len(reports)), results)


def _case(results: Sequence[CaseResult]) -> CaseResult:
    timings = [[result.timing(name) for result in results] for name in _contenders(results)]
    return replace(
        results[0],
        peak_flops_per_s=median(result.peak_flops_per_s for result in results),
        bandwidth_bytes_per_s=median(result.bandwidth_bytes_per_s for result in results),
        timings=tuple(_timing([timing for timing in each if timing is not None]) for each in timings),
    )


def _contenders(results: Sequence[CaseResult]) -> list[str]:
    return list(dict.fromkeys(timing.contender for result in results for timing in result.timings))


def _timing(timings: Sequence[Timing]) -> Timing:
    failed = next((timing for timing in timings if timing.seconds is None), None)
    if failed is not None:
        return failed
    return replace(
        timings[0],
        seconds=median(timing.seconds for timing in timings if timing.seconds is not None),
        error=max(timing.error for timing in timings),
        share=_median_of([timing.share for timing in timings]),
        read_share=_median_of([timing.read_share for timing in timings]),
        to_own=_median_of([timing.to_own for timing in timings]),
    )


def _median_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
