"""Time of a plan's calls on several cores of a machine, simulated: caches, shared bandwidth, and blocks dealt by the pool.

Several regions run one after the other, each with the cost of a parallel region if more than one core has blocks of it. The call
that counts is the second one: caches hold what the first one left, as in a loop of calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from benchmarks.papers.cores.caches import CoreCaches
from benchmarks.papers.cores.links import Link, links_of, private_levels
from benchmarks.papers.cores.timeline import Block, region_seconds
from benchmarks.papers.cores.work import PlanWork, work_of
from tilewright.block.integers import Variable
from tilewright.block.walk import block_count
from tilewright.coefficients import coefficients_for
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import Program, lower_program


@dataclass(frozen=True, slots=True)
class Simulated:
    """A call on some cores."""

    cores: int
    seconds: float
    crossed_bytes: tuple[int, ...]
    """Behind every cache, nearest first, both ways, of all cores together."""


def simulate_cores(
    model_plan: ModelPlan, cores: int, *, links: tuple[Link, ...] | None = None, clock: float = 1.0, calls: int = 2
) -> Simulated:
    """The last of some calls on so many cores, whose clock is that share of the clock of a core that runs alone."""
    machine = model_plan.machine
    program = lower_program(model_plan)
    caches = CoreCaches(program, machine, cores)
    works = _works(program, caches.variables)
    links = links_of(machine) if links is None else links
    for _ in range(calls - 1):
        _call(caches, works, links, clock)
    before = _crossed(caches)
    seconds = _call(caches, works, links, clock) + coefficients_for(machine).call_s
    return Simulated(cores, seconds, tuple(now - then for now, then in zip(_crossed(caches), before, strict=True)))


def _works(program: Program, variables: Mapping[Variable, int]) -> list[PlanWork]:
    """That of every region."""
    found: list[PlanWork] = []
    for _, pairs in groupby(zip(program.regions, program.plans, strict=True), key=lambda pair: id(pair[1])):
        regions, plans = zip(*pairs, strict=True)
        found += [work_of(plans[0], regions, variables)] * len(regions)
    return found


def _call(caches: CoreCaches, works: list[PlanWork], links: tuple[Link, ...], clock: float) -> float:
    machine = caches.program.model_plan.machine
    visible, nearest = coefficients_for(machine).visible_traffic, private_levels(machine) - 1
    seconds = 0.0
    for number, (region, work) in enumerate(zip(caches.program.regions, works, strict=True)):
        blocks = block_count(region, caches.variables)
        cores = min(len(caches.cores), blocks)
        caches.enter_region()

        def run(core: int, taken: range, number: int = number, work: PlanWork = work) -> Block:
            done = caches.cores[core].run(number, taken)
            return Block(work.seconds(done.units) / clock, tuple(map(float, done.crossed_bytes[nearest:])), visible)

        seconds += region_seconds(cores, blocks, run, links) + machine.parallel_region_s * (cores > 1)
    return seconds


def _crossed(caches: CoreCaches) -> list[int]:
    private = [core.simulation.crossed_bytes() for core in caches.cores]
    return [*map(sum, zip(*private, strict=True)), *caches.shared.crossed_bytes()]
