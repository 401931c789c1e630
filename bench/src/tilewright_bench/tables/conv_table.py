"""Tables of convolutions: a row for every shape, sums over the layers of models, and how often we are faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.report.layout import columns
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.tables.means import geometric_mean
from tilewright_bench.tables.required_table import library, milliseconds

BASE = "im2col+openblas"
"""The baseline of SConv."""
OURS = (TILEWRIGHT, f"{TILEWRIGHT} fast", f"{TILEWRIGHT} sconv", f"{TILEWRIGHT} im2col")
WORST = 20


@dataclass(frozen=True, slots=True)
class Faster:
    """How much faster a variant of ours is than others: ratios of times, above 1 where ours is the smaller."""

    variant: str
    ratios: tuple[float, ...]

    def text(self) -> str:
        """Mean, worst, and the share of the cases in which ours is faster.

        >>> Faster("tilewright", (2.0, 0.5)).text()
        'tilewright: geometric mean 1.000, worst 0.500, faster in 50% of 2'
        """
        share = sum(ratio > 1 for ratio in self.ratios) / len(self.ratios)
        mean = f"geometric mean {geometric_mean(self.ratios):.3f}, worst {min(self.ratios):.3f}"
        return f"{self.variant}: {mean}, faster in {share:.0%} of {len(self.ratios)}"


def of_variant(result: CaseResult, variant: str) -> Timing | None:
    """The timing of a variant of ours. A variant with the kernel of the default takes no turns: then the default's."""
    return result.timing(variant) or result.timing(TILEWRIGHT)


def faster(result: CaseResult, variant: str, other: Timing | None) -> float | None:
    """The time of another contender over that of a variant, by turns of the same rounds."""
    ours = of_variant(result, variant)
    if ours is None or other is None or not ours.to_own or not other.to_own:
        return None
    return other.to_own / ours.to_own


def case_table(title: str, results: Sequence[CaseResult], counts: Mapping[str, int]) -> list[str]:
    """A row for every shape: how often it occurs, the algorithms, the times of ours and of each library."""
    others = [
        timing.contender for result in results for timing in result.timings if not timing.is_tilewright and not timing.failure
    ]
    libraries = list(dict.fromkeys(library(name) for name in others))
    head = ["case", "count", "peak", "algorithm", "ms", "GFLOP/s", "share", "fast", "sconv", "im2col", *libraries]
    head += ["best peer", "peer/ours", "peer/sconv"]
    rows = [head, *(_row(result, counts.get(result.case, 0), libraries) for result in results)]
    return [f"{title}: ms per call", *columns(rows, right=[1, 2, *range(4, len(head) - 3), len(head) - 2, len(head) - 1])]


def _row(result: CaseResult, count: int, libraries: Sequence[str]) -> list[str]:
    ours, best = result.timing(TILEWRIGHT), result.best_peer()
    return [
        result.case,
        str(count or "-"),
        f"{result.peak_flops_per_s / 1e9:.0f}",
        ours.note if ours else "-",
        _time(ours),
        f"{result.flops / ours.seconds / 1e9:.1f}" if ours and ours.seconds else "-",
        f"{ours.share:.1%}" if ours and ours.share else "-",
        *(_time(of_variant(result, variant)) for variant in OURS[1:]),
        *(_time(fastest(result, name)) for name in libraries),
        best.contender if best else "-",
        *(_factor(faster(result, variant, best)) for variant in (TILEWRIGHT, f"{TILEWRIGHT} sconv")),
    ]


def fastest(result: CaseResult, name: str) -> Timing | None:
    """The fastest right variant of a library."""
    timings = [timing for timing in result.timings if library(timing.contender) == name and timing.seconds is not None]
    return min(timings, key=lambda timing: timing.seconds or 0.0, default=None)


def model_table(results: Mapping[str, CaseResult], models: Mapping[str, Counter[str]]) -> list[str]:
    """Sums over the layers of each model that was measured as a whole, and their ratios to the baseline's sum."""
    head = [
        "model",
        "layers",
        *OURS,
        BASE,
        "best peers",
        *(f"{BASE}/{name.removeprefix(TILEWRIGHT).strip() or 'ours'}" for name in OURS),
    ]
    rows = [head]
    for model, layers in models.items():
        if set(layers) <= set(results):
            rows.append(_model_row(model, layers, results))
    if len(rows) == 1:
        return []
    return ["sums over the layers of a model, ms, each shape as often as it occurs:", *columns(rows, right=range(1, len(head)))]


def _model_row(model: str, layers: Counter[str], results: Mapping[str, CaseResult]) -> list[str]:
    def total(timing: Callable[[CaseResult], Timing | None]) -> float | None:
        return _sum([(timing(results[name]), count) for name, count in layers.items()])

    ours = [total(lambda result, variant=variant: of_variant(result, variant)) for variant in OURS]  # type: ignore[misc]
    base, best = total(lambda result: result.timing(BASE)), total(CaseResult.best_peer)
    times = ["-" if seconds is None else milliseconds(seconds) for seconds in (*ours, base, best)]
    ratios = ["-" if not seconds or base is None else f"{base / seconds:.3f}" for seconds in ours]
    return [model, str(layers.total()), *times, *ratios]


def _sum(timings: Sequence[tuple[Timing | None, int]]) -> float | None:
    """None where a timing is missing."""
    times = [timing.seconds * count for timing, count in timings if timing is not None and timing.seconds is not None]
    return sum(times) if len(times) == len(timings) else None


def summary(results: Sequence[CaseResult], counts: Mapping[str, int]) -> Iterator[str]:
    """Means, worst cases and shares against the best peer and the baseline; layers count as often as they occur."""
    pointwise = [result for result in results if result.case.startswith("1x1_") and "_s" not in result.case]
    for title, chosen, other in (
        ("against the best peer, every shape once", results, CaseResult.best_peer),
        (f"against {BASE}, every layer", results, base),
        (f"against {BASE}, pointwise layers", pointwise, base),
    ):
        weighted = other is base
        texts = [
            found.text() for variant in OURS if (found := _faster(chosen, variant, other, counts if weighted else {})).ratios
        ]
        if texts:
            yield f"{title}:"
            yield from (f"  {text}" for text in texts)


def base(result: CaseResult) -> Timing | None:
    """The timing of the baseline."""
    return result.timing(BASE)


def _faster(
    results: Sequence[CaseResult], variant: str, other: Callable[[CaseResult], Timing | None], counts: Mapping[str, int]
) -> Faster:
    ratios = [(faster(result, variant, other(result)), counts.get(result.case, 1) or 1) for result in results]
    return Faster(variant, tuple(ratio for ratio, count in ratios if ratio is not None for _ in range(count)))


def worst(results: Sequence[CaseResult]) -> list[str]:
    """The cases in which the best peer is furthest ahead, with the algorithm that was chosen."""
    ratios = [(ratio, result) for result in results if (ratio := faster(result, TILEWRIGHT, result.best_peer())) is not None]
    rows = [["worst", "peer/ours", "algorithm", "share", "best peer", "its share"]]
    for ratio, result in sorted(ratios, key=lambda pair: pair[0])[:WORST]:
        ours, best = result.timing(TILEWRIGHT), result.best_peer()
        shares = [f"{timing.share:.1%}" if timing and timing.share else "-" for timing in (ours, best)]
        rows.append(
            [result.case, f"{ratio:.3f}", ours.note if ours else "-", shares[0], best.contender if best else "-", shares[1]]
        )
    return columns(rows, right=[1, 3, 5]) if len(rows) > 1 else []


def _time(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    if timing.seconds is None:
        return (timing.failure and "-") or f"WRONG by {timing.error:.1g}"
    return milliseconds(timing.seconds)


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
