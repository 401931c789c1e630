"""Schedules measured for a case: the planner's choice, drawn ones, the best predicted, neighbours; with prices and features.

Seconds are of a warm call on one thread: the median and the least of rounds in which all plans take turns. Predicted seconds are
null where the model refuses a schedule. Wrong results are listed and not timed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tilewright.tune.schedules.cases import Case, choice, kernels_for
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Sampled
from tilewright.tune.schedules.timing import compiled, timed, wrong

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
