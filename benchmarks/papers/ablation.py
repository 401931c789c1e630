"""What the cost model, fusion and the micro kernels are worth: Figure 10 of Chimera, on Table IV's plain chains.

    python -m benchmarks.papers.ablation [--cases G2,G5] [--count 100] [--seed 0] [--out FILE.json] [--missing]

Each is taken away from the whole system alone, and the time is compared with that of the whole system, in pairs:

    no cost model   for every order of shared loops `--count` random tilings, own orders and packings; the best one measured
                    (beside it the median of all of them: a tiling that nobody chose)
    no fusion       both products planned apart, the intermediate in memory
    portable        only the portable micro kernel to choose from, compiled for this machine

The paper's factors (section VI-E) go the other way: what each brings alone over a system without all three, on its machine. The
file is written after every case; `--missing` leaves out the cases that it has. The table is printed and written beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.studies.schedules import results as schedule_results
from benchmarks.studies.schedules.results import Document
from tilewright import compiler
from tilewright.errors import InternalError
from tilewright.kernels.registry import registered
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model.partition import partition
from tilewright.report.layout import columns
from tilewright.runtime.memory import new_result
from tilewright.tune.schedules.cases import Case, choice, kernels_for
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Sampled
from tilewright.tune.schedules.timing import Runnable, compiled, timed, wrong
from tilewright.tune.shapes import TABLE_IV
from tilewright.tune.timing import ratios
from tilewright_bench.tables.means import geometric_mean

PAPER = {"no cost model": 2.37, "no fusion": 1.89, "portable": 1.61}
FINALISTS = 5
PAIRS_S = 2.0
ROUNDS = 9


def measure_case(case: Case, count: int, seed: int) -> Document:
    """Seconds of the whole system, and the factors of the three others."""
    (whole,) = case.model_plan().plans
    random = random_plans(choice(whole), count, seed)
    with TemporaryDirectory(prefix="tilewright-ablation-") as directory:
        drawn = compiled(case, [one.plan for one in random], Path(directory))
        faults = wrong(case, drawn)
        quick = timed(drawn, 1, 0.0)
        best = sorted((i for i in range(len(drawn)) if i not in faults), key=quick.median_s)[:FINALISTS]
        own = runnable(case, case.model_plan())
        others = [*(drawn[i] for i in best), runnable(case, case.model_plan(fuse=False)), runnable(case, portable(case))]
        if faulty := wrong(case, [own, *others]):
            raise InternalError(f"{case.name}: wrong results, relative errors {faulty}")
        *tilings, apart, plain = ratios(own.seconds, [one.seconds for one in others], budget_s=PAIRS_S)
    whole_s = median(own.seconds() for _ in range(ROUNDS))
    at = min(range(len(best)), key=lambda i: tilings[i])
    return {
        "case": case.name,
        "measured_s": whole_s,
        "wrong": [str(random[i].point) for i in faults],
        "tilings": len(random),
        "typical_tiling": median(map(quick.median_s, range(len(drawn)))) / whole_s,
        "best_tiling": str(random[best[at]].point),
        "factors": {"no cost model": tilings[at], "no fusion": apart, "portable": plain},
    }


def random_plans(own: Sampled, count: int, seed: int) -> list[Sampled]:
    """As many for every order of shared loops (fewer of those that allow no more); the choice's micro kernels."""
    sampler = Sampler(own, kernels_for(own.plan.machine), seed)
    found = [one for prefix in sampler.outer_orders for one in sampler.uniform(count, (prefix,))]
    return list({one.point: one for one in found}.values())


def runnable(case: Case, model_plan: ModelPlan) -> Runnable:
    """A plan of the whole case, compiled as a user's would be."""
    return Runnable(compiler.build(model_plan, threads=1), case.inputs, new_result(case.reference.shape, np.dtype(np.float32)))


def portable(case: Case, *, fuse: bool | None = None) -> ModelPlan:
    """The plan with the portable micro kernels only."""
    machine = case.model_plan().plans[0].machine
    kernels = tuple(kernel for kernel in registered() if not kernel.features)
    return partition(case.graph, machine, fuse=fuse, kernels=kernels)


def table(cases: Sequence[Document]) -> list[str]:
    """Factors by case, their geometric means, and the paper's."""
    rows = [["case", "whole ms", *PAPER, "tilings", "a typical one"]]
    for case in cases:
        factors = [f"{case['factors'][name]:.2f}" for name in PAPER]
        tilings = [str(case["tilings"]), f"{case['typical_tiling']:.2f}"]
        rows.append([case["case"], f"{case['measured_s'] * 1e3:.3f}", *factors, *tilings])
    means = [geometric_mean([case["factors"][name] for case in cases]) for name in PAPER]
    typical = geometric_mean([case["typical_tiling"] for case in cases])
    rows.append(["geometric mean", "", *(f"{mean:.2f}" for mean in means), "", f"{typical:.2f}"])
    rows.append(["Chimera, Figure 10", "", *map(str, PAPER.values()), "", ""])
    return columns(rows, right=range(1, len(rows[0])))


def report(content: Document) -> list[str]:
    """The table with its heading."""
    return ["time without each part, as a multiple of that of the whole system", "", *table(content["cases"])]


def main(arguments: list[str]) -> None:
    """Measure, save after every case, print."""
    heading = "What each part is worth"
    cases = ",".join(shape.name for shape in TABLE_IV)
    schedule_results.study("papers.ablation", __doc__ or "", arguments, measure_case, heading, report, cases)


if __name__ == "__main__":
    main(sys.argv[1:])
