"""Tables of chains of convolutions: times, shares of the measured peak, floors, and what the best peer takes."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.report.layout import columns
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.tables.means import geometric_mean, ratio
from tilewright_bench.tables.required_table import milliseconds


def case_table(title: str, results: Sequence[CaseResult], threads: int) -> list[str]:
    """A row for every chain, and the geometric mean of the best peer's time over ours.

    Floors are those of the arithmetic at the measured peak (of multiplications as they are written) and of reading and writing
    what comes from outside at the bandwidth of the level that holds it, on all threads.
    """
    contenders = [timing.contender for result in results for timing in result.timings if not timing.failure]
    others = [name for name in dict.fromkeys(contenders) if name != TILEWRIGHT]
    head = ["case", "peak", "ours", "share", "arithmetic", "memory", *others, "best peer", "peer/ours"]
    rows = [head, *(_row(result, others, threads) for result in results)]
    right = [*range(1, len(head) - 2), len(head) - 1]
    return [f"{title}: ms per call, floors in ms", *columns(rows, right=right), *_mean(results)]


def _row(result: CaseResult, others: Sequence[str], threads: int) -> list[str]:
    ours, best, factor = result.timing(TILEWRIGHT), result.best_peer(), ratio(result)
    return [
        result.case,
        f"{result.peak_flops_per_s / 1e9:.0f}",
        _time(result, TILEWRIGHT),
        f"{ours.share:.1%}" if ours and ours.share else "-",
        milliseconds(result.flops / (result.peak_flops_per_s * threads)),
        milliseconds(result.moved_bytes / (result.bandwidth_bytes_per_s * threads)),
        *(_time(result, name) for name in others),
        best.contender if best else "-",
        "-" if factor is None else f"{factor:.3f}",
    ]


def _time(result: CaseResult, name: str) -> str:
    timing = result.timing(name)
    if timing is None or timing.failure:
        return "-"
    return f"WRONG by {timing.error:.1g}" if timing.seconds is None else milliseconds(timing.seconds)


def _mean(results: Sequence[CaseResult]) -> list[str]:
    factors = [factor for result in results if (factor := ratio(result)) is not None]
    if not factors:
        return []
    faster = sum(factor > 1 for factor in factors)
    mean = f"geometric mean of peer/ours {geometric_mean(factors):.3f}, worst {min(factors):.3f}"
    return [f"{mean}, ours is faster in {faster} of {len(factors)}"]
