"""Tables of cases that say what they must reach: our figures, the best variant of each library, and pass or miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.report import units
from tilewright.report.layout import columns
from tilewright_bench.cases.required import NOTHING, ODD_POINTS, missed
from tilewright_bench.measurement.contender import PLAIN_READ, TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.tables.means import geometric_mean, ratio

MEANS = {"attention blocks of BERT-base and ViT-B, operands (b, h, m, k)": 1.10}
"""The least geometric means of the ratios of whole tables."""
PREFIX = "avx512 "
NOT_YET = "not yet"


def table(title: str, results: Sequence[CaseResult], everyone: Mapping[str, CaseResult]) -> list[str]:
    """The lines of one table; `everyone` finds the even counterparts of odd cases."""
    timings = [timing for result in results for timing in result.timings if timing.contender != TILEWRIGHT and not timing.failure]
    libraries = list(dict.fromkeys(library(timing.contender) for timing in timings))
    head = ["case", "peak", "ours", "GFLOP/s", "share", *libraries, "best peer", "peer/ours", "required", "verdict"]
    rows = [head, *(_row(result, libraries, everyone) for result in results)]
    return [f"{title}: ms per call", *columns(rows, right=range(1, len(head) - 4)), *_mean(title, results)]


def library(contender: str) -> str:
    """Whose variant a contender is.

    >>> library("avx512 torch in steps"), library("onnxruntime Attention")
    ('avx512 torch', 'onnxruntime')
    """
    name = contender.removeprefix(PREFIX).partition(" ")[0]
    return f"{PREFIX}{name}" if contender.startswith(PREFIX) else name


def shortfalls(result: CaseResult, even: CaseResult | None) -> list[str]:
    """What the case misses of what it must reach; for an odd one (`even` is its counterpart) of the even one's share."""
    timing = result.timing(TILEWRIGHT)
    if timing is None or timing.seconds is None:
        return [timing.failure if timing and timing.failure else "wrong"]
    required = result.required or NOTHING
    found = list(missed(required, timing.share, timing.read_share if _is_read(result) else None, ratio(result)))
    beside = even.timing(TILEWRIGHT) if even else None
    if even and beside and (share := result.bound_share(timing)) and (whole := even.bound_share(beside)):
        found += [f"{share - whole:+.1%} beside even sizes"] if share < whole - ODD_POINTS else []
    return found


def _row(result: CaseResult, libraries: Sequence[str], everyone: Mapping[str, CaseResult]) -> list[str]:
    best, even = result.best_peer(), everyone.get(result.even)
    factor = ratio(result)
    return [
        result.case,
        f"{result.peak_flops_per_s / 1e9:.0f}",
        *_tilewright(result),
        *(_cell(result, name) for name in libraries),
        best.contender if best else "-",
        "-" if factor is None else f"{factor:.3f}",
        f"{ODD_POINTS:.0%} of {result.even}" if result.even else str(result.required),
        _verdict(result, even),
    ]


def _tilewright(result: CaseResult) -> list[str]:
    """Time, rate, and share of what binds."""
    timing = result.timing(TILEWRIGHT)
    if timing is None or timing.seconds is None:
        return [NOT_YET if timing and timing.failure else "WRONG", "-", "-"]
    share = result.bound_share(timing)
    of = "read" if result.is_memory_bound else "peak"
    return [
        milliseconds(timing.seconds),
        f"{result.flops / timing.seconds / 1e9:.1f}",
        f"{share:.1%} {of}" if share is not None else "-",
    ]


def _cell(result: CaseResult, name: str) -> str:
    times = [timing.seconds for timing in result.timings if library(timing.contender) == name and timing.seconds is not None]
    return milliseconds(min(times)) if times else "-"


def _verdict(result: CaseResult, even: CaseResult | None) -> str:
    required, factor = result.required or NOTHING, ratio(result)
    if required == NOTHING and not result.even:
        return "-"
    if shortfalls(result, even):
        return "miss"
    return "no peer" if required.ratio and factor is None else "pass"


def milliseconds(seconds: float) -> str:
    """Three significant digits.

    >>> milliseconds(0.0000123), milliseconds(0.174)
    ('0.012', '174')
    """
    return units.three_digits(seconds * 1e3) if seconds >= 1e-3 else f"{seconds * 1e3:.3f}"


def _mean(title: str, results: Sequence[CaseResult]) -> list[str]:
    ratios = [value for result in results if (value := ratio(result)) is not None]
    if not ratios:
        return []
    mean, wanted = geometric_mean(ratios), MEANS.get(title)
    verdict = "" if wanted is None else f" ({wanted:.2f} required: {'pass' if mean >= wanted else 'miss'})"
    of = "" if len(ratios) == len(results) else f" of {len(ratios)} of {len(results)} cases"
    return [f"geometric mean of peer/ours{of}: {mean:.3f}{verdict}"]


def _is_read(result: CaseResult) -> bool:
    return result.timing(PLAIN_READ) is not None
