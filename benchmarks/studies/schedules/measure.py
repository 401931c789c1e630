"""Measure schedules of the planner's space, and write them with their prices: the data that coefficients are fitted on.

    python -m benchmarks.studies.schedules.measure --out FILE.json [--cases G2,R8] [--count 6] [--neighbours 12] [--rounds 5] ...

For every case: the planner's choice, `--count` uniform schedules, as many of the best predicted decile, and `--neighbours` of
those one step from the choice (all of them for a negative number). An existing FILE keeps its other cases. Each entry has the
seconds of a call (warm, one thread; the median and the least of rounds in which all plans take turns), the predicted ones (null
where the model refuses the schedule) and `plan.model.price_features` by operator; each case has the peak of one core, measured
between the rounds. Wrong results are listed and not timed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.studies.schedules import results as schedule_results
from benchmarks.studies.schedules.cases import Case, choice, chosen_cases, kernels_for
from benchmarks.studies.schedules.sampling import Sampler
from benchmarks.studies.schedules.space import Sampled
from benchmarks.studies.schedules.timing import compiled, timed, wrong
from tilewright_bench.environment import restart_if_unfair

Named = tuple[str, str, Sampled]
"""Where a plan comes from, how it differs from the choice (a neighbour's step), and the plan."""


def population(case: Case, *, uniform: int, best: int, neighbours: int, seed: int = 0) -> list[Named]:
    """The choice first, then everything that it is compared with, each schedule once."""
    (plan,) = case.model_plan().plans
    own = choice(plan)
    sampler = Sampler(own, kernels_for(plan.machine), seed)
    beside = sampler.neighbours()
    if 0 <= neighbours < len(beside):
        beside = random.Random(seed).sample(beside, neighbours)
    found: list[Named] = [
        ("choice", "", own),
        *(("uniform", "", one) for one in sampler.uniform(uniform)),
        *(("best decile", "", one) for one in sampler.best_decile(best)),
        *(("neighbour", step, one) for step, one in beside),
    ]
    return list({named[2].point: named for named in reversed(found)}.values())[::-1]


def document(source: str, step: str, one: Sampled) -> dict[str, Any]:
    """One plan, ready for JSON."""
    finite = isfinite(one.predicted_s)
    return {
        "source": source,
        "step": step,
        "schedule": str(one.point),
        "predicted_s": one.predicted_s if finite else None,
        "price": {term.name: term.seconds for term in one.plan.price.terms} if finite else None,
        "features": one.features() if finite else None,
    }


def measure_case(case: Case, named: Sequence[Named], rounds: int) -> dict[str, Any]:
    """The document of one case."""
    start = time.perf_counter()
    with TemporaryDirectory(prefix="tilewright-schedules-") as directory:
        runnables = compiled(case, [one.plan for _, _, one in named], Path(directory))
        errors = wrong(case, runnables)
        times = timed(runnables, rounds)
    plans = []
    for i, entry in enumerate(named):
        right = i not in errors
        seconds = {"measured_s": times.median_s(i) if right else None, "least_s": times.least_s(i) if right else None}
        plans.append({**seconds, **document(*entry)})
    faults = [{"schedule": str(named[i][2].point), "error": error if isfinite(error) else None} for i, error in errors.items()]
    wall_s = time.perf_counter() - start
    return {"case": case.name, "wall_s": wall_s, "peak_flops_per_s": times.peak_flops_per_s, "wrong": faults, "plans": plans}


def main(arguments: list[str]) -> None:
    """Measure, and save after every case."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.schedules.measure", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--neighbours", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    restart_if_unfair(1)
    for case in chosen_cases(options.cases):
        named = population(case, uniform=options.count, best=options.count, neighbours=options.neighbours, seed=options.seed)
        found = measure_case(case, named, options.rounds)
        schedule_results.save(options.out, found)
        print(f"{case.name}: {len(named)} plans in {found['wall_s']:.1f} s, {len(found['wrong'])} wrong", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
