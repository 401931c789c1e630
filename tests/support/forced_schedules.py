"""Chains planned with schedules that a test chooses, whatever they cost."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tilewright.graph.types import Chain
from tilewright.plan import planner
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.planner import forget_plans
from tilewright.plan.search.exact_search import PlanningProblem, search_problem
from tilewright.plan.search.outer_loops import OuterLoops
from tilewright.plan.space.loop_trees import executable_fused_groups, group_choices, possible_fused_groups, tree_choices
from tilewright.runtime import artifacts

Choice = Callable[[PlanningProblem], Candidate]


@contextmanager
def scheduled(choose: Choice) -> Iterator[None]:
    """Inside, a chain has the schedule that `choose` makes of its problem; nothing is remembered, before, inside or behind."""
    forget_plans()
    with patch.object(planner, "search_problem", lambda problem: (choose(problem),)), artifacts.ignored():
        yield
    forget_plans()


def orders(problem: PlanningProblem) -> list[OuterLoops]:
    """Every order of outer loops with every choice of line buffers, and with the fused groups that may stand below it."""
    space, found = problem.space, list(problem.outer_orders)
    groups = possible_fused_groups(space)
    for one in [one for one in found if one.keeps_all()] if groups else []:
        free = [group for group in groups if not set(group.axes) & set(one.outer_loops)]
        for below in group_choices(executable_fused_groups(space, one.outer_loops, free)):
            choices = {axis: one.choices[axis] for axis in one.dims}
            if below:
                found.append(OuterLoops(space, one.outer_loops, (), tree_choices(space, choices, below), below))
    return found


def with_tiles(order: OuterLoops, generator: random.Random) -> Candidate:
    """The order with one tile of each axis, one that cuts it and a small one rather, and the best inner loops below."""
    tiles = {axis: (generator.choice(_likely(order.choices[axis])),) for axis in order.dims}
    return OuterLoops(order.space, order.outer_loops, order.line_buffered, tiles, order.fused_groups).best()


def _likely(tiles: tuple[int, ...]) -> tuple[int, ...]:
    """All but the last, which covers the axis, and the smallest again."""
    return (*tiles[:2], *tiles[:-1]) if len(tiles) > 1 else tiles


def at_random(generator: random.Random) -> Choice:
    """Any order with any tiles, or what the search finds where there is none."""

    def choose(problem: PlanningProblem) -> Candidate:
        every = orders(problem)
        return with_tiles(generator.choice(every), generator) if every else search_problem(problem)[0]

    return choose


def met(problems: list[PlanningProblem]) -> Choice:
    """What the search finds; the problems are listed."""

    def choose(problem: PlanningProblem) -> Candidate:
        problems.append(problem)
        return search_problem(problem)[0]

    return choose


def only(chain: Chain, candidate: Candidate) -> Choice:
    """The candidate for one chain, and for others what the search finds."""
    return lambda problem: candidate if problem.context.chain == chain else search_problem(problem)[0]
