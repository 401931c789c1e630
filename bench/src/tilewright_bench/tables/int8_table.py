"""The tables of products of integers: times, rates, shares of the measured peak, floors, the best peer, and what is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.report.layout import columns
from tilewright_bench.cases.required import NOTHING, missed
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.tables.means import geometric_mean, ratio
from tilewright_bench.tables.required_table import milliseconds

FLOATS = f"{TILEWRIGHT} float32"
"""Our product of the same numbers as floats, than which integers must not be slower."""
SATURATES = "~"
"""Behind the times of those whose result is wrong by saturation."""

LEGEND = (
    "peak: measured, in GOP/s of vector units, where multiplying and adding are two operations; share: what ours reach of it",
    "read: what ours reach of the bandwidth of a plain read from the level of memory that holds operands and result",
    "floor: the least time that this peak and this bandwidth allow",
    "required: shares that ours must reach, and a peer's time over ours (the best one's unless named); verdict: if they are",
)
"""What columns are, for people."""


def case_table(title: str, results: Sequence[CaseResult], threads: int) -> list[str]:
    """A row for every product, and geometric means of the best peer's time over ours, of all and by rows of the left operand.

    The peak is that of vector units in GOP/s; matrix units exceed it. `read` is the share of the bandwidth of reading everything.
    `floor` is the larger of the arithmetic at that peak and of reading and writing operands and result at the bandwidth of the
    level that holds them, on all threads. `verdict` holds ours against what is asked of the case.
    """
    contenders = [timing.contender for result in results for timing in result.timings if not timing.failure]
    others = [name for name in dict.fromkeys(contenders) if name != TILEWRIGHT]
    head = ["case", "peak", "floor", "ours", "GOP/s", "share", "read", *others, "best peer", "peer/ours", "required", "verdict"]
    rows = [head, *(_row(result, others, threads) for result in results)]
    right = [*range(1, len(head) - 4), len(head) - 3]
    return [f"{title}: ms per call, floors in ms", *columns(rows, right=right), *_summary(results)]


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
        str(result.required or NOTHING),
        _verdict(result, ours),
    ]


def _time(result: CaseResult, name: str) -> str:
    timing = result.timing(name)
    if timing is None or timing.failure:
        return "-"
    if timing.seconds is None:
        return f"WRONG by {timing.error:.1g}"
    return f"{milliseconds(timing.seconds)}{SATURATES if timing.saturates else ''}"


def _verdict(result: CaseResult, ours: Timing | None) -> str:
    required = result.required or NOTHING
    if required == NOTHING or ours is None:
        return "-"
    factor = ratio(result, required.peer)
    if any(missed(required, ours.share, ours.read_share, factor)):
        return "miss"
    return "no peer" if required.ratio and factor is None else "pass"


def _summary(results: Sequence[CaseResult]) -> Iterator[str]:
    """Means of ratios, how often ours are as fast as our floats, and what saturates."""
    wanted = max((result.required.mean for result in results if result.required), default=0.0)
    yield from _means("peer/ours", [(result, ratio(result)) for result in results], wanted)
    for name in dict.fromkeys(timing.contender for result in results for timing in result.timings if timing.is_tilewright):
        if name not in (TILEWRIGHT, FLOATS):
            yield from _means(f"peer/{name}", [(result, _to(result, result.best_peer(), name)) for result in results])
    floats = [timing.to_own for result in results if (timing := result.timing(FLOATS)) and timing.to_own]
    if floats:
        yield f"{FLOATS}/ours: at least {min(floats):.3f} (1 required: {_passes(min(floats) >= 1)})"
    saturating = [(result, result.best_saturating_peer()) for result in results]
    errors = [timing.error for result in results for timing in result.timings if timing.saturates]
    if errors:
        wrong = f"which makes results wrong by up to {max(errors):.2f} of the largest"
        yield f"{SATURATES}: sums of products saturate in 16 bits, {wrong}; such a peer is not the best"
        yield from _means("fastest of these/ours", [(result, _to(result, timing, TILEWRIGHT)) for result, timing in saturating])


def _to(result: CaseResult, peer: Timing | None, name: str) -> float | None:
    """The time of a peer over that of a variant of ours."""
    timing = result.timing(name)
    if peer is None or timing is None or not peer.to_own or not timing.to_own:
        return None
    return peer.to_own / timing.to_own


def _means(what: str, ratios: Sequence[tuple[CaseResult, float | None]], wanted: float = 0.0) -> Iterator[str]:
    """Of ratios, all and by rows of the left operand."""
    by_rows = dict[str, list[float]]()
    for result, factor in ratios:
        if factor is not None:
            by_rows.setdefault(result.case.partition("x")[0], []).append(factor)
    factors = [factor for group in by_rows.values() for factor in group]
    if not factors:
        return
    groups = ", ".join(f"M = {rows}: {geometric_mean(group):.3f}" for rows, group in by_rows.items())
    mean = geometric_mean(factors)
    verdict = f" ({wanted:.2f} required: {_passes(mean >= wanted)})" if wanted else ""
    yield f"geometric mean of {what} {mean:.3f}{verdict}, worst {min(factors):.3f}; {groups}"


def _passes(is_met: bool) -> str:
    return "pass" if is_met else "miss"
