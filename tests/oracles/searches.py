"""Searches and refinements by the compiled core beside those by the Python formulas: all figures equal to the last bit.

python -m tests.oracles.searches cascadelake-6240 zen5           # all graphs of `tests/replay`, for some machines
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

from tests.replay.planning import SUBJECTS, graphs_of
from tilewright.plan import planner
from tilewright.plan.decisions.prefetching_kernels import prefetching_kernels
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Blocking, Candidate, Walked, works
from tilewright.plan.search import exact_search
from tilewright.plan.search.core import library
from tilewright.plan.search.core.data import BeyondLimits
from tilewright.plan.search.core.searched import CoreProblem, core_problem
from tilewright.plan.search.exact_search import PlanningProblem, search_problem
from tilewright.plan.search.inner_loops import refinement
from tilewright.runtime import search_core


def by_arrays(problem: PlanningProblem) -> tuple[Candidate, ...]:
    """The candidates by the Python formulas."""
    return exact_search.ranked_candidates(problem.context, exact_search.searched_by_arrays(problem))


def verdict(problem: PlanningProblem, found: tuple[Candidate, ...]) -> str:
    """What became of a search, in a word or two."""
    if problem.in_core is None:
        return "beyond the core's limits: " + _limit(problem)
    return "equal" if by_arrays(problem) == found else "different"


def _limit(problem: PlanningProblem) -> str:
    """Where the core's limits are met."""
    core = library.core(builds=True)
    try:
        assert core is not None
        core_problem(core, problem.space, problem.variants)
    except BeyondLimits as limit:
        frames = traceback.extract_tb(limit.__traceback__)
        return f"{frames[-1].name}:{frames[-1].lineno}"
    return ""


def verdict_on_refinement(context: CostContext, found: Sequence[Candidate], blocking: Blocking, walk: Walked) -> str:
    """What became of a refinement, in a word or two: of its loops, of what they cost with all micro kernels, of spills."""
    by_arrays, walk_by_arrays = refinement(context, found)
    if blocking != by_arrays:
        return "different loops"
    for kernels in ({}, *prefetching_kernels(context).values()):
        other = context.with_kernels(kernels)
        if not walk.works(other) == walk_by_arrays.works(other) == works(other, blocking):
            return "different works"
    is_equal = walk.spills(context).seconds == walk_by_arrays.spills(context).seconds
    return "equal" if is_equal else "different spills"


@contextmanager
def compared() -> Iterator[Counter[str]]:
    """Inside, every search and every refinement is made by both; how often each verdict was given."""
    library.core(builds=True)
    counts: Counter[str] = Counter()
    known: set[object] = set()

    def noted(outcome: str, context: CostContext) -> None:
        counts[outcome] += 1
        if outcome != "equal":
            print(outcome, *(operator.name for operator in context.chain.operators), flush=True)

    def both(problem: PlanningProblem) -> tuple[Candidate, ...]:
        found = search_problem(problem)
        key = problem.context.chain, problem.context.machine.name, tuple(problem.context.kernels.values())
        if key not in known:
            known.add(key)
            noted(verdict(problem, found), problem.context)
        return found

    def both_refined(
        context: CostContext, found: Sequence[Candidate], in_core: CoreProblem | None = None
    ) -> tuple[Blocking, Walked]:
        blocking, walk = refinement(context, found, in_core)
        if in_core is not None:
            noted(verdict_on_refinement(context, found, blocking, walk), context)
        return blocking, walk

    with mock.patch.multiple(planner, search_problem=both, refinement=both_refined):
        yield counts


def compare_all(machine: str) -> Counter[str]:
    """The verdicts on the searches of all graphs of the replay for a machine."""
    with compared() as counts:
        for subject in SUBJECTS:
            for name, planned in graphs_of(subject).items():
                before = counts.copy()
                planner.forget_plans()
                planned(machine)
                if wrong := {what: count for what, count in (counts - before).items() if what != "equal"}:
                    print(subject, name, wrong, flush=True)
    return counts


def main() -> None:
    """Compare the searches of all graphs of the replay for some machines."""
    library.use(search_core.opened)
    for machine in sys.argv[1:]:
        print(machine, dict(compare_all(machine)), flush=True)


if __name__ == "__main__":
    main()
