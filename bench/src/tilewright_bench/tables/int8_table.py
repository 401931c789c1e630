"""The table of products of bytes: times, rates, shares of the measured peak of byte products, floors, and the best peer."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.report.layout import columns
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.tables.means import geometric_mean, ratio
from tilewright_bench.tables.required_table import milliseconds


def case_table(title: str, results: Sequence[CaseResult], threads: int) -> list[str]:
    """A row for every product, and geometric means of the best peer's time over ours, of all and by rows of the left operand.

    The peak is that of vector units in GOP/s; matrix units exceed it. `read` is the share of the bandwidth of reading everything.
    `floor` is the larger of the arithmetic at that peak and of reading and writing operands and result at the bandwidth of the
    level that holds them, on all threads.
    """
    contenders = [timing.contender for result in results for timing in result.timings if not timing.failure]
    others = [name for name in dict.fromkeys(contenders) if name != TILEWRIGHT]
    head = ["case", "peak", "floor", "ours", "GOP/s", "share", "read", *others, "best peer", "peer/ours"]
    rows = [head, *(_row(result, others, threads) for result in results)]
    right = [*range(1, len(head) - 2), len(head) - 1]
    return [f"{title}: ms per call, floors in ms", *columns(rows, right=right), *_means(results)]


def _row(result: CaseResult, others: Sequence[str], threads: int) -> list[str]:
    ours, best, factor = result.timing(TILEWRIGHT), result.best_peer(), ratio(result)
    floors_s = result.flops / result.peak_flops_per_s, result.moved_bytes / result.bandwidth_bytes_per_s
    return [
        result.case,
        f"{result.peak_flops_per_s / 1e9:.0f}",
        milliseconds(max(floors_s) / threads),
        _time(result, TILEWRIGHT),
        f"{result.flops / ours.seconds / 1e9:.0f}" if ours and ours.seconds else "-",
        f"{ours.share:.1%}" if ours and ours.share else "-",
        f"{ours.read_share:.1%}" if ours and ours.read_share else "-",
        *(_time(result, name) for name in others),
        best.contender if best else "-",
        "-" if factor is None else f"{factor:.3f}",
    ]


def _time(result: CaseResult, name: str) -> str:
    timing = result.timing(name)
    if timing is None or timing.failure:
        return "-"
    return f"WRONG by {timing.error:.1g}" if timing.seconds is None else milliseconds(timing.seconds)


def _means(results: Sequence[CaseResult]) -> list[str]:
    """Of the ratios to the best peer, all and by rows."""
    by_rows = dict[str, list[float]]()
    for result in results:
        if (factor := ratio(result)) is not None:
            by_rows.setdefault(result.case.partition("x")[0], []).append(factor)
    factors = [factor for group in by_rows.values() for factor in group]
    if not factors:
        return []
    groups = ", ".join(f"M = {rows}: {geometric_mean(group):.3f}" for rows, group in by_rows.items())
    return [f"geometric mean of peer/ours {geometric_mean(factors):.3f}, worst {min(factors):.3f}; {groups}"]
