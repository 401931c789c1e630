"""What the cost model, fusion and micro kernels bring, each alone: Figure 10 as Chimera builds it, on Table IV's plain chains.

    python -m benchmarks.papers.additive_ablation [--cases G2,G5] [--count 100] [--seed 0] [--out FILE.json] [--missing]

The baseline has none of the three, and each is added to it alone; the figures are the baseline's time over that of the system:

    baseline        both products apart, portable micro kernels, and for every order of outer loops the best of `--count`
                    measured random tilings of each product
    cost model      the baseline, with the planner's choice instead of measured tilings
    fusion          one fused kernel, the best of `--count` measured random tilings per order, portable micro kernels
    micro kernel    the baseline with this machine's micro kernels
    all             the whole system

The baseline is stronger than a system without a cost model that measures nothing: it takes the best of hundreds of measurements.
`benchmarks.papers.ablation` takes each part away from the whole instead. The file is written after every case; `--missing`
leaves out the cases that it has. The table is printed and written beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.papers.ablation import portable, random_plans, runnable
from benchmarks.studies.schedules import results as schedule_results
from benchmarks.studies.schedules.results import Document
from tilewright.errors import InternalError
from tilewright.plan.types import ModelPlan, Plan
from tilewright.report.layout import columns
from tilewright.tune.schedules.cases import Case, choice
from tilewright.tune.schedules.timing import compiled_models, timed, wrong
from tilewright.tune.shapes import TABLE_IV
from tilewright.tune.timing import ratios
from tilewright_bench.tables.means import geometric_mean

PAPER = {"cost model": 2.37, "fusion": 1.89, "micro kernel": 1.61}
"""Section VI-E, on the paper's machine."""
SYSTEMS = (*PAPER, "all")
PAIRS_S = 2.0


def measure_case(case: Case, count: int, seed: int) -> Document:
    """The speed-ups over the baseline."""
    baseline = best_of_random(case, portable(case, fuse=False), count, seed)
    added = {
        "cost model": portable(case, fuse=False),
        "fusion": best_of_random(case, portable(case, fuse=True), count, seed),
        "micro kernel": best_of_random(case, case.model_plan(fuse=False), count, seed),
        "all": case.model_plan(),
    }
    own = runnable(case, baseline)
    systems = [runnable(case, plan) for plan in added.values()]
    if faulty := wrong(case, [own, *systems]):
        raise InternalError(f"{case.name}: wrong results, relative errors {faulty}")
    times = ratios(own.seconds, [one.seconds for one in systems], budget_s=PAIRS_S)
    return {
        "case": case.name,
        "baseline_s": own.seconds(),
        "speedups": {name: 1 / ratio for name, ratio in zip(added, times, strict=True)},
    }


def best_of_random(case: Case, model: ModelPlan, count: int, seed: int) -> ModelPlan:
    """The model with each chain's tiling replaced by the fastest measured random tiling, the chains taken apart."""
    fastest = [best_tiling(case, model, at, count, seed) for at in range(len(model.plans))]
    return replace(model, plans=tuple(fastest))


def best_tiling(case: Case, model: ModelPlan, at: int, count: int, seed: int) -> Plan:
    """The fastest of `count` random tilings per order of outer loops of chain number `at`, measured within the model."""
    drawn = [one.plan for one in random_plans(choice(model.plans[at]), count, seed)]
    models = [model.with_plan(at, plan) for plan in drawn]
    with TemporaryDirectory(prefix="tilewright-ablation-") as directory:
        runnables = compiled_models(case, models, Path(directory))
        faults = wrong(case, runnables)
        quick = timed(runnables, 1, 0.0)
    return drawn[min((i for i in range(len(drawn)) if i not in faults), key=quick.median_s)]


def table(cases: Sequence[Document]) -> list[str]:
    """Speed-ups over the baseline by case, their geometric means, and the paper's."""
    rows = [["case", "baseline ms", *SYSTEMS]]
    for case in cases:
        rows.append([case["case"], f"{case['baseline_s'] * 1e3:.3f}", *(f"{case['speedups'][name]:.2f}" for name in SYSTEMS)])
    means = [geometric_mean([case["speedups"][name] for case in cases]) for name in SYSTEMS]
    rows.append(["geometric mean", "", *(f"{mean:.2f}" for mean in means)])
    rows.append(["Chimera, Figure 10", "", *map(str, PAPER.values()), ""])
    return columns(rows, right=range(1, len(rows[0])))


def report(content: Document) -> list[str]:
    """The table with its heading."""
    return ["baseline's time over that with each part added alone", "", *table(content["cases"])]


def main(arguments: list[str]) -> None:
    """Measure, save after every case, print."""
    heading = "What each part brings alone"
    cases = ",".join(shape.name for shape in TABLE_IV)
    schedule_results.study("papers.additive_ablation", __doc__ or "", arguments, measure_case, heading, report, cases)


if __name__ == "__main__":
    main(sys.argv[1:])
