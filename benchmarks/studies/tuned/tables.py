"""The report of `benchmarks.tuning`: fractions of the best by method, seconds, correlations, and the papers' headlines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from types import MappingProxyType
from typing import Any

from benchmarks.studies.tuned.finals import Series
from benchmarks.studies.tuned.headlines import best_peer, over_naive
from benchmarks.studies.tuned.records import Header
from tilewright.report.layout import columns
from tilewright_bench.cases.gemm_shapes import SQUARES, TABLE_1
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.tables.means import geometric_mean

RANKERS = ("price", "network", "boosting", "random")
METHODS = (*RANKERS, "price 100", "evolution", "boosting search")
CHOICE_BOUND, WORST_BOUND = 1.03, 1.10
"""The choice's time over that of the best of everything found: geometric mean, and the worst."""


@dataclass(frozen=True, slots=True)
class Row:
    """One problem, judged and re-measured."""

    name: str
    flops: int
    is_exhaustive: bool
    header: Header
    judged: dict[str, Any]
    series: Series

    @property
    def best(self) -> float:
        """The time of the best of everything found over the choice's, at most 1."""
        return self.series.best()[1]

    @property
    def regret(self) -> float:
        """The choice's time over the best one's."""
        return 1 / self.best

    def has(self, method: str) -> bool:
        """Whether the method was tried on it."""
        return method in self.judged["methods"]

    def figure(self, method: str) -> float:
        """The time of what a method found over the choice's: in pairs where it was in the finals, else in the table."""
        found = self.judged["methods"][method]
        return float(self.series.final.get(found["digest"], found["ratio"]))

    def fraction(self, method: str) -> float:
        """The share of the best speed of the table that what a method found has there."""
        return float(self.judged["least"] / self.judged["methods"][method]["ratio"])

    def seconds(self, method: str) -> float:
        """Of the method."""
        return float(self.judged["methods"][method]["seconds"])


def fractions(rows: Sequence[Row]) -> list[str]:
    """By problem, and means over all and over the sixteen."""
    head = ["problem", "variants", "pool", "choice ms", "of peak", "choice/best", "choice", *METHODS]
    lines = [[one.name, *_sizes(one), f"{one.regret:.3f}", f"{one.best:.3f}", *_texts(one)] for one in rows]
    means = []
    for title, some in (("geometric mean of all", rows), ("of the sixteen", [one for one in rows if one.is_exhaustive])):
        if some:
            regret = geometric_mean([one.regret for one in some])
            shares = [_mean_text([one.fraction(method) for one in some if one.has(method)], 3) for method in METHODS]
            means.append([title, "", "", "", "", f"{regret:.3f}", f"{1 / regret:.3f}", *shares])
    return columns([head, *lines, *means], right=range(1, len(head)))


def _sizes(row: Row) -> list[str]:
    share = row.flops / row.header.choice_s / row.header.peak_flops_per_s
    return [str(row.judged["table"]), str(row.judged["pool"]), f"{row.header.choice_s * 1e3:.3f}", f"{share:.0%}"]


def _texts(row: Row) -> list[str]:
    return [f"{row.fraction(method):.3f}" if row.has(method) else "" for method in METHODS]


def _mean_text(values: Sequence[float], digits: int) -> str:
    """Their geometric mean; nothing of nothing."""
    return f"{geometric_mean(values):.{digits}f}" if values else ""


def costs(rows: Sequence[Row]) -> list[str]:
    """Processor seconds of planning and compiling the choice, and of every method."""
    head = ["problem", "choice", *METHODS, "whole table"]
    lines = []
    for one in rows:
        spent = [f"{one.seconds(method):.1f}" if one.has(method) else "" for method in METHODS]
        lines.append([one.name, f"{one.header.planning_s:.2f}", *spent, f"{one.judged['exhaustive_s']:.0f}"])
    means = [_mean_text([max(one.seconds(method), 1e-3) for one in rows if one.has(method)], 1) for method in METHODS]
    planning = geometric_mean([one.header.planning_s for one in rows])
    whole = geometric_mean([one.judged["exhaustive_s"] for one in rows])
    last = ["geometric mean", f"{planning:.2f}", *means, f"{whole:.0f}"]
    return columns([head, *lines, last], right=range(1, len(head)))


def correlations(rows: Sequence[Row]) -> list[str]:
    """Spearman's, of the order of a ranker and the times of its pool."""
    names = ("price", "network", "boosting", "random", "price, whole table")
    head = ["problem", *names]
    every = [one.judged["spearman"] for one in rows]
    lines = [[one.name, *(_correlation([one.judged["spearman"].get(name, nan)]) for name in names)] for one in rows]
    means = [_correlation([of_row.get(name, nan) for of_row in every]) for name in names]
    return columns([head, *lines, ["mean", *means]], right=range(1, len(head)))


def _correlation(values: Sequence[float]) -> str:
    """Their mean, without those that are none."""
    finite = [value for value in values if isfinite(value)]
    return f"{sum(finite) / len(finite):.2f}" if finite else ""


def headlines(products: Mapping[str, dict[str, float]]) -> list[str]:
    """Of the products of PolyDL: GFLOP/s of everyone, over the naive loops, over the best peer, share of the peak."""
    shapes = {shape.name: shape for shape in (*TABLE_1, *SQUARES)}
    head = ["M x N x K", "ours GFLOP/s", "of peak", "naive", "over naive", "over best peer"]
    lines = []
    for name, times in products.items():
        speed, slow = (shapes[name].flops / times[who] for who in (TILEWRIGHT, "naive"))
        share = speed / times["peak_flops_per_s"]
        figures = [
            f"{speed / 1e9:.1f}",
            f"{share:.0%}",
            f"{slow / 1e9:.2f}",
            f"{over_naive(times):.1f}",
            f"{best_peer(times):.2f}",
        ]
        lines.append([name, *figures])
    return columns([head, *lines], right=range(1, len(head)))


def papers(
    rows: Sequence[Row], products: Mapping[str, dict[str, float]], parallel: Mapping[str, dict[str, float]] = MappingProxyType({})
) -> list[str]:
    """Theirs and ours, figure by figure; `parallel` has products on several threads, as the naive loops."""
    names = {shape.name for shape in TABLE_1}
    table_1, on_threads = ([times for name, times in found.items() if name in names] for found in (products, parallel))
    shares = sorted(
        shape.flops / products[shape.name][TILEWRIGHT] / products[shape.name]["peak_flops_per_s"]
        for shape in SQUARES
        if shape.name in products
    )
    searched = [one for one in rows if one.is_exhaustive]
    lines = [["", "theirs", "ours"]]
    if table_1:
        lines.append(["speed-up over naive loops, Table 1, one thread", "7.6", f"{_geometric(map(over_naive, table_1)):.1f}"])
        lines.append(["  the same of a search by boosting (AutoTVM)", "4.9", _boosted(rows, products)])
        lines.append(["over the best peer, Table 1 (oneDNN; NumPy, torch)", "0.55", f"{_geometric(map(best_peer, table_1)):.2f}"])
    if on_threads:
        lines.append(["speed-up over naive loops, Table 1, 28 cores; 2", "8.2", f"{_geometric(map(over_naive, on_threads)):.1f}"])
    if shares:
        lines.append(["share of the peak, squares 16 to 128", "33-71%", f"{shares[0]:.0%}-{shares[-1]:.0%}"])
    if searched:
        spent = _geometric(one.seconds("evolution") / one.header.planning_s for one in searched)
        speed = _geometric(one.figure("evolution") for one in searched)
        lines.append(["time to optimise, evolutionary search over planning", "21.9", f"{spent:.0f}"])
        lines.append(["speed of the planner's code over that of the search's", "1.39", f"{speed:.2f}"])
    return columns(lines, right=(1, 2))


def _boosted(rows: Sequence[Row], products: Mapping[str, dict[str, float]]) -> str:
    """Over the naive loops, of the products that it searched: the search's speed-up, and the choice's of the same products."""
    names = {shape.name for shape in TABLE_1}.intersection(products)
    own = [over_naive(products[one.name]) for one in rows if one.name in names]
    found = [over_naive(products[one.name]) / one.figure("boosting search") for one in rows if one.name in names]
    return f"{_geometric(found):.1f}, choice {_geometric(own):.1f}, {len(found)} sizes" if found else "not measured"


def _geometric(values: Any) -> float:
    return geometric_mean(list(values))


def bound(rows: Sequence[Row]) -> list[str]:
    """Whether the planner's first choice is as near the best as it must be, and where it is not."""
    regrets = {one.name: one.regret for one in rows}
    mean, worst = geometric_mean(list(regrets.values())), max(regrets, key=regrets.__getitem__)
    beyond = sorted((name for name in regrets if regrets[name] > WORST_BOUND), key=lambda name: -regrets[name])
    return [
        f"choice/best: geometric mean {mean:.3f} (bound {CHOICE_BOUND})",
        f"worst {regrets[worst]:.3f} of {worst} (bound {WORST_BOUND})",
        f"beyond {WORST_BOUND}: {', '.join(f'{name} {regrets[name]:.2f}' for name in beyond) or 'none'}",
    ]
