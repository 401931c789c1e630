"""How much faster the planner's first choice could have been: measured against other schedules of its space.

    python -m benchmarks.studies.schedules.regret [--cases G2,R8] [--count 100] [--seed 0] [--out FILE.json] [--missing]

For every case: `--count` uniform schedules, as many of the best predicted decile, and all that are one step from the choice. All
are compiled, checked and timed in three rounds of turns; the `FINALISTS` fastest are timed again in pairs with the choice; and
the fastest `WINNERS` of these once more, so that the figure of a winner is none that it was elected by. A ratio is the choice's
time over the other's, at least 1. Where it exceeds `LOSS`, the table says what differs and what the price makes of that.

The file (by default among the results, named as there) is written after every case; `--missing` leaves out the cases that it has.
Beside it stands the table, which is printed, with the errors of the prediction over all plans that were measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.studies.schedules import results as schedule_results
from benchmarks.studies.schedules.results import Document, errors, median_or_nan
from tilewright.plan.schedule import Compute, Loop, Node
from tilewright.report.layout import columns
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.sampling import Named, population
from tilewright.tune.schedules.space import Point, Sampled
from tilewright.tune.schedules.timing import Runnable, compiled, timed, wrong
from tilewright.tune.timing import ratios
from tilewright_bench.tables.means import geometric_mean

ROUNDS = 3
FINALISTS = 15
WINNERS = 3
FINAL_S = 4.0
"""Spent on the pairs of one case, half of it on the winners."""
LOSS = 1.02
SOURCES = ("choice", "uniform", "best decile", "neighbour")
HEADINGS = ("case", "plans", "choice ms", "predicted", "choice/best", "error", "the best is")


def measure_case(case: Case, named: Sequence[Named]) -> Document:
    """The document of one case: all plans, the winners' ratios, and the features of the choice and the best."""
    with TemporaryDirectory(prefix="tilewright-regret-") as directory:
        runnables = compiled(case, [one.plan for _, _, one in named], Path(directory))
        faults = wrong(case, runnables)
        quick = timed(runnables, ROUNDS, 0.0)
        right = [i for i in range(1, len(named)) if i not in faults]
        winners = elected(runnables, sorted(right, key=quick.median_s)[:FINALISTS])
    plans = []
    for i, entry in enumerate(named):
        times = {"measured_s": None if i in faults else rounded(quick.median_s(i)), "ratio": winners.get(i)}
        plans.append({**times, **(document(*entry) if i == 0 or i in winners or i in faults else brief(*entry))})
    return {
        "case": case.name,
        "peak_flops_per_s": quick.peak_flops_per_s,
        "fused_by_price": len(case.model_plan(fuse=None).plans) == 1,
        "wrong": [{"schedule": plans[i]["schedule"], "error": e if isfinite(e) else None} for i, e in faults.items()],
        "plans": plans,
    }


def document(source: str, step: str, one: Sampled) -> Document:
    """One plan, ready for JSON."""
    finite = isfinite(one.predicted_s)
    return {
        "source": source,
        "step": step,
        "schedule": text_of(one.point),
        "predicted_s": one.predicted_s if finite else None,
        "price": {term.name: term.seconds for term in one.plan.price.terms} if finite else None,
        "features": one.features() if finite else None,
    }


def text_of(point: Point) -> str:
    """A schedule in words."""
    inner = [f"{name} for L1 {', '.join(f'{axis} by {tile}' for axis, tile in loops)}" for name, loops in point.inner]
    stays = [f"{name} in place" for name in sorted(point.in_place)]
    kernels = [f"{name} on {kernel}" for name, kernel in point.kernels]
    return "; ".join([_body_text(point.outer.body), *inner, *stays, *kernels])


def _body_text(body: tuple[Node, ...]) -> str:
    parts = []
    for node in body:
        if isinstance(node, Loop):
            parts.append(f"{node.axis} by {node.tile} ({_body_text(node.body)})")
        elif isinstance(node, Compute):
            parts.append(node.operator)
    return ", ".join(parts)


def brief(source: str, step: str, one: Sampled) -> Document:
    """What is kept of a plan that is neither the choice nor among the fastest."""
    return {"source": source, "step": step, "predicted_s": rounded(one.predicted_s) if isfinite(one.predicted_s) else None}


def rounded(seconds: float) -> float:
    """To four digits: timings are no better.

    >>> rounded(0.00123456)
    0.001235
    """
    return float(f"{seconds:.4g}")


def elected(runnables: Sequence[Runnable], finalists: Sequence[int]) -> dict[int, float]:
    """The choice's time over that of the fastest finalists, from pairs that did not elect them."""
    first = ratios(runnables[0].seconds, [runnables[i].seconds for i in finalists], budget_s=FINAL_S / 2)
    winners = [i for _, i in sorted(zip(first, finalists, strict=True))][:WINNERS]
    second = ratios(runnables[0].seconds, [runnables[i].seconds for i in winners], budget_s=FINAL_S / 2)
    return {i: 1 / ratio for i, ratio in zip(winners, second, strict=True)}


def best_of(case: Document) -> Document:
    """The plan of a case that is fastest: the choice itself if no ratio exceeds 1."""
    winner: Document = max(case["plans"], key=lambda plan: plan["ratio"] or 0.0)
    own: Document = case["plans"][0]
    return winner if (winner["ratio"] or 0.0) > 1.0 else own


def regret(case: Document) -> float:
    """The choice's time over the best one's."""
    return float(best_of(case)["ratio"] or 1.0)


def table(content: Document) -> list[str]:
    """One line a case, the means, and what is missed where the choice loses."""
    cases = content["cases"]
    if not cases:
        return []
    apart = [
        f"{case['case']}: the price leaves the operators apart; what is measured is the plan that fuses them"
        for case in cases
        if not case["fused_by_price"]
    ]
    losses = [line for case in cases if regret(case) > LOSS for line in loss_lines(case)]
    return [*columns([HEADINGS, *map(_row, cases)], right=[1, 2, 3, 4, 5]), "", *_summary(content), *apart, "", *losses]


def loss_lines(case: Document) -> list[str]:
    """The terms of the price in which the best plan differs from the choice, in microseconds, and what remains."""
    own, best = case["plans"][0], best_of(case)
    gained_s = own["measured_s"] * (1 - 1 / regret(case))
    lines = [f"{case['case']}: {gained_s * 1e6:.0f} us of {own['measured_s'] * 1e6:.0f} are lost to {what(best)}"]
    lines += [f"    choice  {own['schedule']}", f"    best    {best['schedule']}"]
    if best["price"] is None:
        return [*lines, "    the model refuses it: it expects rows of an operand read in place to meet in few sets of a cache"]
    expected_s = own["predicted_s"] - best["predicted_s"]
    lines += [f"    {name:40} {a * 1e6:9.1f} {b * 1e6:9.1f}" for name, a, b in differing(own["price"], best["price"])]
    return [
        *lines,
        f"    the price expects {expected_s * 1e6:+.0f} us of gain; {(gained_s - expected_s) * 1e6:.0f} us are not in any term",
    ]


def differing(own: dict[str, float], best: dict[str, float]) -> list[tuple[str, float, float]]:
    """(term, seconds in the choice, seconds in the best plan) where both are not about equal."""
    names = dict.fromkeys([*own, *best])
    pairs = [(name, own.get(name, 0.0), best.get(name, 0.0)) for name in names]
    return [(name, a, b) for name, a, b in pairs if abs(a - b) > 0.005 * max(own.values())]


def what(plan: Document) -> str:
    """Where a plan comes from."""
    return f"{plan['source']}: {plan['step']}" if plan["step"] else str(plan["source"])


def _row(case: Document) -> list[str]:
    own, best = case["plans"][0], best_of(case)
    single = median_or_nan(errors({"machine": {}, "cases": [case]}))
    times = [f"{own['measured_s'] * 1e3:.3f}", f"{own['predicted_s'] * 1e3:.3f}"]
    return [case["case"], str(len(case["plans"])), *times, f"{regret(case):.3f}", f"{single:.1%}", what(best)]


def _summary(content: Document) -> list[str]:
    found = [regret(case) for case in content["cases"]]
    refused = sum(plan["predicted_s"] is None for case in content["cases"] for plan in case["plans"])
    faults = sum(len(case["wrong"]) for case in content["cases"])
    wall_s = sum(case["wall_s"] for case in content["cases"])
    by_source = [f"{source} {median_or_nan(errors(content, source)):.1%}" for source in SOURCES]
    return [
        f"choice/best: geometric mean {geometric_mean(found):.3f}, worst {max(found):.3f}, {len(found)} cases",
        f"predicted against measured, {len(errors(content))} plans: median error {median_or_nan(errors(content)):.1%} "
        f"({', '.join(by_source)}); {median_or_nan(errors(content, beside=True)):.1%} at the peak measured beside them",
        f"{refused} plans are refused by the model, {faults} results are wrong; {wall_s:.0f} s in all",
    ]


def measured(case: Case, count: int, seed: int) -> Document:
    """The choice, drawn schedules, the best predicted and all neighbours."""
    return measure_case(case, population(case, uniform=count, best=count, neighbours=-1, seed=seed))


def report(content: Document) -> list[str]:
    """The table behind an empty line."""
    return ["", *table(content)]


def main(arguments: list[str]) -> None:
    """Measure, save after every case, print."""
    heading = "The planner's choice against other schedules"
    schedule_results.study("studies.schedules.regret", __doc__ or "", arguments, measured, heading, report)


if __name__ == "__main__":
    main(sys.argv[1:])
