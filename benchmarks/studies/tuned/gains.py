"""What `tilewright tune` gains on a problem, and whether calls are faster afterwards: in fresh pairs that tuning has not seen."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import tilewright as tw
from benchmarks.studies.tuned.building import CORE
from benchmarks.studies.tuned.measuring import undisturbed
from benchmarks.studies.tuned.problems import Problem
from tilewright.report.layout import columns
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import default
from tilewright.tune.pipeline.names import DEFAULT_AGENT
from tilewright.tune.pipeline.tuning import Judgement, Request, plans_of, tune_chains
from tilewright.tune.timing import paired_ratios, seconds_per_call
from tilewright_bench.tables.means import geometric_mean

TRIALS = 100
PAIRS_S = 2.0


@dataclass(frozen=True, slots=True)
class Gain:
    """Of one problem, all chains of it together."""

    measured: int
    """Plans."""
    kept: int
    """Chains with a tuned plan, of `chains`."""
    chains: int
    reported: list[float]
    """The time of the best plan over that of the planner's choice, as tuning reports it, of each chain that it keeps."""
    calls: float | None
    """The time of a call with tuned plans over that of a call with the planner's, the median of fresh pairs; None where no
    plan was kept: calls run the same code."""
    seconds: float
    """Processor seconds of tuning."""


def measure(problem: Problem) -> dict[str, Any]:
    """Tune, with the tuning database of the cache directory in use, then compare calls."""
    os.sched_setaffinity(0, {CORE})
    begin = os.times()
    with undisturbed():
        results = list(tune_chains(plans_of(problem.case), default(), Request(TRIALS, unroll=DEFAULT_AGENT)))
    end = os.times()
    chains = [result for result in results if not result.is_whole]
    is_undone = any(result.is_whole and result.judgement is Judgement.STAYS for result in results)
    kept = [] if is_undone else [result for result in chains if result.judgement is not Judgement.STAYS]
    spent = sum(end[:4]) - sum(begin[:4])
    calls = _calls(problem) if kept else None
    return asdict(Gain(sum(one.measured for one in chains), len(kept), len(chains), [one.ratio for one in kept], calls, spent))


def _calls(problem: Problem) -> float:
    with tuned_plans.ignored():
        planned = tw.jit(problem.case.function)
        planned(*problem.case.inputs)
    tuned = tw.jit(problem.case.function)
    inputs = problem.case.inputs
    with undisturbed():
        (found,) = paired_ratios(
            lambda: seconds_per_call(lambda: planned(*inputs)),
            [lambda: seconds_per_call(lambda: tuned(*inputs))],
            budget_s=PAIRS_S,
        )
    return median(found)


def table(gains: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
    """A line for each problem, and what all gain together.

    >>> gain = {"measured": 101, "kept": 1, "chains": 1, "reported": [0.9], "calls": 0.91, "seconds": 40.0}
    >>> print("\\n".join(table({"G2": gain, "G7": {**gain, "kept": 0, "reported": [], "calls": None}})))
              plans  chains kept  reported  calls  processor seconds
    G2          101       1 of 1      0.90   0.91                 40
    G7          101       0 of 1                                  40
    geometric mean of calls with kept plans 0.910, slowest 0.910; 1 of 2 problems keep none, and run the code of before
    """
    head = ["", "plans", "chains kept", "reported", "calls", "processor seconds"]
    lines = [
        [
            name,
            f"{one['measured']}",
            f"{one['kept']} of {one['chains']}",
            " ".join(f"{ratio:.2f}" for ratio in one["reported"]),
            "" if one["calls"] is None else f"{one['calls']:.2f}",
            f"{one['seconds']:.0f}",
        ]
        for name, one in gains.items()
    ]
    calls = [one["calls"] for one in gains.values() if one["calls"] is not None]
    mean = f"geometric mean of calls with kept plans {geometric_mean(calls):.3f}, slowest {max(calls):.3f}; " if calls else ""
    last = f"{mean}{len(gains) - len(calls)} of {len(gains)} problems keep none, and run the code of before"
    return [*columns([head, *lines], right=range(1, len(head))), last]
