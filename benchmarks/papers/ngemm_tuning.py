"""What tuning would gain on products of bytes: NGEMM's tiles and loop order <tm, tn, tk>, of the planner and of a search.

    python -m benchmarks.papers.ngemm_tuning [--cases 16x512x512,64x1024x1024] [--count 60] [--seed 0] [--json FILE.json]

Products u8 x s8 -> s32 with constant weights of 7 bits, of the sizes of `tilewright bench int8`. The paper finds tiles and the
order of loops by autotuning, the planner computes them. Here `--count` others of the planner's own space (tiles and orders of
loops, loops for L1, also on other micro kernels that cannot saturate) are compiled, checked bit for bit, and measured on one
thread; the five fastest take turns with the choice of the planner, one is elected. `ratio` is the time of the choice over its,
in fresh pairs; `gain` is the same where these find it faster beyond chance (`tune.timing`), else 1. Seconds of the search,
compilers included, and milliseconds of planning are those of a processor.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.studies.schedules.regret import text_of
from benchmarks.studies.schedules.results import Document
from benchmarks.studies.tuned.measuring import undisturbed
from benchmarks.studies.tuned.variants import table as variants_of
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.types import Graph
from tilewright.plan.types import ModelPlan
from tilewright.report.layout import columns
from tilewright.runtime import calibration
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import TuningDatabase
from tilewright.tune.pipeline.trials import Trial, Trials, trial_of
from tilewright.tune.pipeline.tuning import FINALISTS
from tilewright.tune.schedules.chain_case import chain_case
from tilewright_bench.cases.int8 import Int8Case, int8_cases
from tilewright_bench.cases.int8_shapes import Int8Shape, shape_named
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.provenance import provenance
from tilewright_bench.tables.means import geometric_mean

CASES = (
    *("4x1024x1024", "16x512x512", "16x2048x512", "64x1024x1024"),
    *("64x768x3072", "256x512x512", "256x1024x1024", "256x2048x512"),
)
WEIGHT_BITS = 7
"""So that kernels whose sums saturate are among the exact ones."""
HEAD_LINES = 2
"""Machine and versions; what follows is of tables by rounds."""
FIRST_PLANNED = Int8Shape(8, 64, 64)
"""Before anything is timed: the first planning of a process loads modules."""


def product_of(case: Int8Case) -> Graph:
    """The product alone, without zero points."""
    builder = Builder("product")
    a = builder.input("a", case.operands[0].shape, "uint8")
    b = builder.constant(case.operands[1], "b")
    return builder.graph((builder.record(integer_matmul, a, b, None, None, kind="matmul").name,))


def planned(case: Int8Case) -> tuple[ModelPlan, float]:
    """The planner's plan, and the processor seconds that it takes."""
    graph, machine = product_of(case), calibration.ensure()
    begin = time.process_time()
    return compiler.plan(graph, machine), time.process_time() - begin


def measure_case(case: Int8Case, count: int, seed: int) -> Document:
    """The planner's choice beside the best of `count` other schedules."""
    with tuned_plans.ignored(), TemporaryDirectory(prefix="tilewright-ngemm-") as directory:
        model, planning_s = planned(case)
        alone = chain_case(model, 0)
        trials = Trials(alone, seed, TuningDatabase(Path(directory) / "trials.sqlite"))
        begin = processor_s()
        own, *others = (trial_of(one.sampled, one.source) for one in variants_of([alone.model], count + 1, seed))
        with undisturbed():
            seconds = trials.measure([own, *others])
        best = sorted((one for one in others if one.digest in seconds), key=lambda one: seconds[one.digest])[:FINALISTS]
        search_s = processor_s() - begin
        with undisturbed():
            found = trials.pairs(own.plan, [one.plan for one in best], threads=1)
    left_out = 1 + len(others) - len(seconds)
    measured = {"variants": len(others), "left_out": left_out, "search_s": search_s, "planning_s": planning_s}
    if found.verdict is None:
        same = {"ratio": 1.0, "wins": 0.0, "gain": 1.0, "best": schedule_of(own)}
        return {"case": case.name, **measured, **same, "choice_s": found.reference_s, "choice": schedule_of(own)}
    gain = 1 / found.verdict.ratio if found.verdict.is_faster else 1.0
    verdict = {"ratio": 1 / found.verdict.ratio, "wins": found.verdict.wins, "gain": gain}
    schedules = {"choice": schedule_of(own), "best": schedule_of(best[found.verdict.number])}
    return {"case": case.name, **measured, **verdict, "choice_s": found.reference_s, **schedules}


def processor_s() -> float:
    """Of this process and of compilers that it has waited for: other programs take none of it."""
    return sum(os.times()[:4])


def schedule_of(trial: Trial) -> str:
    """Tiles and loops, outermost first, and the micro kernel."""
    return text_of(trial.schedule.point)


def table(cases: Sequence[Document]) -> list[str]:
    """A line for each case and the geometric means, then the schedules."""
    head = ["M x N x K", "choice us", "best us", "ratio", "pairs won", "gain", "variants", "left out", "search s", "planning ms"]
    rows = [
        [
            case["case"],
            *(f"{case['choice_s'] * 1e6:.1f}", f"{case['choice_s'] / case['ratio'] * 1e6:.1f}", f"{case['ratio']:.3f}"),
            *(f"{case['wins']:.0%}", f"{case['gain']:.3f}", str(case["variants"]), str(case["left_out"])),
            *(f"{case['search_s']:.1f}", f"{case['planning_s'] * 1e3:.0f}"),
        ]
        for case in cases
    ]
    ratio, gain, search_s, planning_s = (
        geometric_mean([case[what] for case in cases]) for what in ("ratio", "gain", "search_s", "planning_s")
    )
    mean = ["geometric mean", "", "", f"{ratio:.3f}", "", f"{gain:.3f}", "", "", f"{search_s:.1f}", f"{planning_s * 1e3:.0f}"]
    schedules = [f"{case['case']} {what}: {case[what]}" for case in cases for what in ("choice", "best")]
    return [*columns([head, *rows, mean], right=range(1, len(head))), "", *schedules]


def shapes_named(names: str) -> list[Int8Shape]:
    """The sizes of an option."""
    return [shape_named(name) for name in names.split(",")]


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=shapes_named, default=",".join(CASES), help="sizes M x N x K")
    parser.add_argument("--count", type=int, default=60, help="schedules of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="a file for the figures, written after every case")
    chosen = parser.parse_args()
    restart_if_unfair(1)
    planned(Int8Case(FIRST_PLANNED, WEIGHT_BITS))
    head = provenance(calibration.ensure(), toolchain.find(), (), 1).lines()[:HEAD_LINES]
    found = list[Document]()
    for case in int8_cases(chosen.cases, [WEIGHT_BITS]):
        found.append(measure_case(case, chosen.count, chosen.seed))
        print(f"{case.name}: {found[-1]['search_s']:.1f} s", file=sys.stderr, flush=True)
        if chosen.json:
            chosen.json.write_text(json.dumps({"head": head, "seed": chosen.seed, "cases": found}) + "\n")
    print("\n".join([*head, *table(found)]))


if __name__ == "__main__":
    main()
