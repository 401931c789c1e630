"""Loops of all levels chosen together, beside the planner's stages: outer levels first, then the loops inside of their blocks.

    python -m benchmarks.studies.joint_levels [--cases G1,C3] [--random 200] [--seed 0] [--target cascadelake-6240] [--json FILE]

Chimera's Equation 3 (section IV-C) asks for tiles and orders of every level together. The planner searches the fusion level by a
price in which the nearest level is served by the bare block, and cuts the blocks of the best three plans for L1. Here every order
of outer loops with every tile, and below it every order of each operator's own loops with every tile, is priced with the best
loops for L1 inside, all by the planner's own price: best first by a bound, until nothing left can be better. Operators share
nothing but outer loops and the memory that intermediates take, so that each one's loops are chosen alone; what they leave on chip
for each other is not counted, so that the joint optimum may be a little too good. Partially fused groups are left to the stages.

Random chains are two GEMMs of a batch, extents of 16 to 1024 (log-uniform). The ratio is the time of the stages over that of the
joint optimum on the cores; the planner itself prefers fewer loops to gains below 2%.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, log
from pathlib import Path
from statistics import quantiles
from typing import TypeAlias

import numpy as np

import tilewright as tw
from benchmarks.papers.cores.cases import CONV_CHAINS, GEMM_CHAINS, case_named
from tilewright.arrays import Quantity, expanded, spread
from tilewright.machine import Machine
from tilewright.plan.model.cost import Block, moving_of, nothing, passing_of, seconds, work_of
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.repriced import context_for
from tilewright.plan.search.exact_search import problem_of, search_problem
from tilewright.plan.search.inner_loops import refine, refined_seconds
from tilewright.plan.search.outer_loops import OuterLoops
from tilewright.plan.types import ModelPlan
from tilewright.report.layout import columns
from tilewright.tune import chain_functions
from tilewright.tune.shapes import ChainShape
from tilewright_bench.tables.means import geometric_mean


class Floors(OuterLoops):
    """An order of outer loops whose options cost what no loops for L1 inside of them get below."""

    def _price(self, around: ChainFigures, view: OperatorView, block: Block) -> Quantity:
        """The price without traffic into L1 and without packing."""
        if view.operator.name in self.context.in_tiles:
            return seconds(self.context, nothing(self.context))
        work = work_of(moving_of(passing_of(self.context, around, view, block)))
        traffic = {**work.traffic_bytes, self.context.cache_levels[0].name: 0}
        return seconds(self.context, replace(work, traffic_bytes=traffic, packing_s=0.0))

    def fitting(self) -> dict[str, list[Option]]:
        """By operator, for every order of its own loops what they cost at least; infinite where blocks do not fit."""
        around, capacity = chain_figures(self.context, self.view, self.live_bytes()), self.context.capacity_bytes
        found: dict[str, list[Option]] = {}
        for name, options in self._options(around).items():
            found[name] = []
            for option in options:
                own = tuple(len(self.space.tiles[axis]) for axis in self._inner_dims(option.order))
                shape = (*self.shape, *own)
                used = spread(option.used + expanded(self.live_bytes(), len(own)), shape)
                floors = np.where(used <= capacity, spread(option.seconds, shape), np.inf)
                found[name].append((option.order, floors.reshape(*self.shape, -1)))
        return found

    def at(self, index: tuple[int, ...], name: str, order: tuple[str, ...], place: int) -> Candidate:
        """These tiles, with own loops of one operator."""
        inner = {name: self._inner_tiles(order, place)}
        none = {operator.operator.name: dict[str, int]() for operator in self.view.operators}
        figures = {"seconds": 0.0, "cores_s": 0.0, "used_bytes": 0, "blocks": 1}
        return self._order().candidate(self.context, self._tiles_at(index), {**none, **inner}, **figures)  # type: ignore[arg-type]

    def on_cores(self, total_s: np.ndarray) -> np.ndarray:
        """Seconds on the machine's cores, for all tiles, where these are cut."""
        return np.where(self.is_cut(), spread(self._on_cores(total_s), self.shape), np.inf)


Option: TypeAlias = tuple[tuple[str, ...], np.ndarray]
"""An order of an operator's own loops, and seconds for all outer tiles and, in the last dimension, all own tiles."""


@dataclass(frozen=True, slots=True)
class Joint:
    """The joint optimum of one chain beside the stages: seconds on the cores."""

    case: str
    staged_s: float
    joint_s: float
    refined: int
    """Blocks that were cut for L1 to find it."""

    @property
    def ratio(self) -> float:
        """Of the stages to the optimum."""
        return self.staged_s / self.joint_s

    def cells(self) -> list[str]:
        """A row of the table."""
        times = (f"{seconds * 1e6:.2f}" for seconds in (self.staged_s, self.joint_s))
        return [self.case, *times, f"{self.ratio:.4f}", str(self.refined)]


def joint(case: str, context: CostContext) -> Joint:
    """Both of a chain."""
    problem = problem_of(context)
    blocking = refine(context, search_problem(problem))
    candidate = blocking.candidate
    staged_s = blocking.seconds * candidate.cores_s / candidate.seconds
    best_s, refined = staged_s, 0
    orders = [Floors(problem.space, one.outer_loops, one.line_buffered, every=problem.every) for one in problem.outer_orders]
    for bound_s, loops, index, options in sorted(_bounded(orders), key=lambda one: one[0]):
        if bound_s >= best_s:
            break
        share = bound_s / sum(min(float(floors[index].min()) for _, floors in each) for each in options.values())
        total_s, more = _refined(context, loops, index, options)
        best_s, refined = min(best_s, total_s * share), refined + more
    return Joint(case, staged_s, best_s, refined)


Bounded: TypeAlias = tuple[float, Floors, tuple[int, ...], dict[str, list[Option]]]


def _bounded(orders: Sequence[Floors]) -> Iterator[Bounded]:
    """Every order of outer loops with every tile, and what it costs at least on the cores."""
    for loops in orders:
        options = loops.fitting()
        least = [np.minimum.reduce([floors.min(axis=-1) for _, floors in each]) for each in options.values()]
        bounds = loops.on_cores(sum(least, np.zeros(loops.shape)))
        for index in zip(*np.nonzero(np.isfinite(bounds)), strict=True) if loops.shape else ((),):
            place = tuple(int(i) for i in index)
            if np.isfinite(bounds[place]):
                yield float(bounds[place]), loops, place, options


def _refined(
    context: CostContext, loops: Floors, index: tuple[int, ...], options: Mapping[str, list[Option]]
) -> tuple[float, int]:
    """The seconds of all operators with their best own loops and loops for L1, and how many blocks were cut."""
    total_s, count = 0.0, 0
    for name, each in options.items():
        best_s = float("inf")
        own = [(float(floor), order, place) for order, floors in each for place, floor in enumerate(floors[index])]
        for floor, order, place in sorted(own, key=lambda one: one[0]):
            if floor >= best_s or not np.isfinite(floor):
                break
            best_s = min(best_s, refined_seconds(context, loops.at(index, name, order, place), name))
            count += 1
        total_s += best_s
    return total_s, count


def contexts(name: str, machine: Machine) -> Iterator[CostContext]:
    """Those of the chains of a case that have loops to search; of a convolution chain those that the planner fuses."""
    function, operands = case_named(name)
    yield from _searched(tw.jit(function, target=machine, fuse=None if name in CONV_CHAINS else True).lower(*operands).model_plan)


def random_contexts(count: int, seed: int, machine: Machine) -> Iterator[tuple[str, CostContext]]:
    """Random chains of two GEMMs, with their sizes for names."""
    source = random.Random(seed)
    for _ in range(count):
        m, n, k, length = (round(exp(source.uniform(log(16), log(1024)))) for _ in range(4))
        shape = ChainShape("", source.choice((1, 2, 4, 8)), m, n, k, length)
        specs = [tw.spec(operand) for operand in shape.operands]
        plan = tw.jit(chain_functions.gemm_chain, target=machine, fuse=True).lower(*specs).model_plan
        yield from ((f"{shape.batch}x{m}x{n}x{k}x{length}", context) for context in _searched(plan))


def _searched(model_plan: ModelPlan) -> Iterator[CostContext]:
    for plan in model_plan.plans:
        if any(part.micro_kernel for part in plan.operators):
            yield context_for(plan, plan.chain)


def report(found: Sequence[Joint]) -> list[str]:
    """The geometric mean, quantiles and the largest ratio."""
    ratios = [one.ratio for one in found]
    worst = max(found, key=lambda one: one.ratio)
    deciles = quantiles(ratios, n=20) if len(ratios) > 1 else [ratios[0]] * 19
    return [
        f"{len(found)} chains: stages over joint optimum {geometric_mean(ratios):.4f} (geometric mean), median {deciles[9]:.4f}, "
        f"95% below {deciles[18]:.4f}, largest {worst.ratio:.4f} ({worst.case})"
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.joint_levels", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cases", default=",".join((*GEMM_CHAINS, *CONV_CHAINS)))
    parser.add_argument("--random", type=int, default=200, help="random chains")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="cascadelake-6240")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    options = parser.parse_args(arguments)
    machine, begin = Machine.named(options.target), time.monotonic()
    named = [joint(name, context) for name in filter(None, options.cases.split(",")) for context in contexts(name, machine)]
    rows = [["case", "us stages", "joint", "ratio", "cut"], *(one.cells() for one in named)]
    print(f"{options.target}, {machine.cores} cores by the price", *columns(rows, right=range(1, 5)), sep="\n")
    print(*(report(named) if named else ()), sep="\n", flush=True)
    drawn = [joint(name, context) for name, context in random_contexts(options.random, options.seed, machine)]
    print(*(report(drawn) if drawn else ()), f"{time.monotonic() - begin:.0f} s", sep="\n")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in (*named, *drawn)], indent=1) + "\n")


if __name__ == "__main__":
    main()
