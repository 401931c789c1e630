"""The table of variants of a problem: the planner's choice, what is one and two steps from it, and drawn two-level tilings."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain as chained
from itertools import zip_longest
from math import isfinite, log2

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.schedule import Compute, Loop, Node, Schedule
from tilewright.plan.types import ModelPlan
from tilewright.tune.pipeline.trials import decisions_digest
from tilewright.tune.schedules.cases import Case, choice, kernels_for, searched
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Point, Sampled
from tilewright.tune.working_sets.features import plan_features

SECOND_SHARE = 0.25
"""Of a table: variants two steps from the choice."""
OTHER_KERNELS_SHARE = 0.25
"""Of a table: drawn tilings on other micro kernels than the choice's."""
DRAWN_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """One variant: a model with another plan for one of its chains."""

    model: ModelPlan
    """As the planner leaves it."""
    number: int
    """0: as the planner decides; 1: fused, where it leaves operators apart."""
    at: int
    """The number of the chain."""
    sampled: Sampled
    source: str

    @property
    def digest(self) -> str:
        """Of all decisions that may differ between entries of a table."""
        return f"{self.number}.{self.at}.{decisions_digest(self.sampled.plan)[:16]}"

    @property
    def instructions(self) -> frozenset[frozenset[str]]:
        """The sets of instructions that its micro kernels need: the vocabularies of two of them do not meet in one file."""
        return frozenset(kernel.features for kernel in self.sampled.context.kernels.values())

    @property
    def plan(self) -> ModelPlan:
        """The whole plan."""
        return self.model.with_plan(self.at, self.sampled.plan)

    @property
    def predicted_s(self) -> float:
        """Of a call of the whole model."""
        return sum(plan.predicted_seconds for plan in self.plan.plans)

    def terms(self) -> dict[str, float]:
        """Seconds by term of the chain's price."""
        return {term.name: term.seconds for term in self.sampled.plan.price.terms if isfinite(term.seconds)}

    def features(self) -> list[int]:
        """Working sets of the whole model, by level."""
        return [sum(level) for level in zip(*map(plan_features, self.plan.plans), strict=True)]

    def code(self) -> dict[str, float]:
        """See `decisions`."""
        return {f"{self.number}.{self.at} {name}": value for name, value in decisions(self.sampled.point).items()}


def models(case: Case) -> list[ModelPlan]:
    """What the planner makes of a case, and behind it the fused plan where it leaves operators apart."""
    own, fused = case.model_plan(fuse=None), case.model_plan(fuse=True)
    return [own, fused] if len(fused.plans) < len(own.plans) else [own]


def table(found: Sequence[ModelPlan], count: int, seed: int) -> list[Entry]:
    """Up to `count` variants whose decisions differ, the planner's choice first; micro kernels are of one instruction set each.

    Deterministic.

    Raises `AssertionError` where the planner's choice is outside of the space.
    """
    chains = [
        _of_chain(model, number, at, count, seed)
        for number, model in enumerate(found)
        for at, plan in enumerate(model.plans)
        if any(one.micro_kernel for one in plan.operators)
    ]
    entries: dict[str, Entry] = {}
    chosen = set[int]()
    for entry in _interleaved(chains):
        if entry.source == "choice" and entry.number in chosen:
            continue
        chosen |= {entry.number} if entry.source == "choice" else set()
        if len(entry.instructions) == 1:
            entries.setdefault(entry.digest, entry)
        if len(entries) == count:
            break
    return list(entries.values())


def decisions(point: Point) -> dict[str, float]:
    """A schedule as numbers by name: tiles as logarithms, orders of loops, micro kernels and packing as marks.

    Two schedules are the nearer the fewer of these differ, and the less.
    """
    found = {f"{name} on {kernel}": 1.0 for name, kernel in point.kernels}
    found |= {f"{name} in place": 1.0 for name in point.in_place}
    found |= _walked(point.outer.body, "")
    for name, loops in point.inner:
        for number, (axis, tile) in enumerate(loops):
            level = [other for other, _ in loops[:number]].count(axis)
            found[f"{name} for L1, {level} by {axis}"] = log2(tile)
        found[f"{name} for L1 in order {' '.join(axis for axis, _ in loops)}"] = 1.0
    return found


def _walked(body: tuple[Node, ...], around: str) -> dict[str, float]:
    """The loops of a tree by the operators inside; `around` are the axes of those outside."""
    found: dict[str, float] = {}
    for node in body:
        if isinstance(node, Loop):
            names = "+".join(_operators(node.body))
            found[f"{names} by {node.axis}"] = log2(node.tile)
            found |= _walked(node.body, f"{around} {node.axis}")
        elif isinstance(node, Compute):
            found[f"{node.operator} in order{around}"] = 1.0
    return found


def _operators(body: tuple[Node, ...]) -> list[str]:
    return [leaf.operator for _, leaf in Schedule(body).leaves() if isinstance(leaf, Compute)]


def _of_chain(model: ModelPlan, number: int, at: int, count: int, seed: int) -> Iterator[Entry]:
    """Of one chain: the choice, its neighbours, then drawn ones and those two steps away in turns."""
    source, kernels = random.Random(seed), kernels_for(model.machine)
    own = choice(model.plans[at])
    sampler = Sampler(own, kernels, seed)

    def entries(kind: str, found: Iterable[Sampled]) -> Iterator[Entry]:
        return (Entry(model, number, at, one, kind) for one in found)

    yield from entries("choice", [own])
    yield from entries("whole sum", [searched(model.plans[at])] if own.plan.schedule.split else [])
    beside = [one for _, one in sampler.neighbours()]
    yield from entries("neighbour", beside)
    others = [Sampler(one, kernels, seed) for one in beside if one.point.kernels != own.point.kernels]
    kinds = {
        "two steps": entries("two steps", _second(beside, kernels, source)),
        "other kernel": (Entry(model, number, at, one, f"{space}, other kernel") for space, one in _drawn(others)),
        "drawn": (Entry(model, number, at, one, space) for space, one in _drawn([sampler])),
    }
    for kind in _mixed(count):
        one = next(kinds[kind], None)
        if one is not None:
            yield one
    yield from kinds["drawn"]
    yield from kinds["other kernel"]


def _mixed(count: int) -> Iterator[str]:
    """Which kind of variant is next, so that any part of a table from its beginning has all of them in these shares."""
    second = other = 0.0
    for number in range(1, count + 1):
        if second < SECOND_SHARE * number:
            second += 1
            yield "two steps"
        elif other < OTHER_KERNELS_SHARE * number:
            other += 1
            yield "other kernel"
        else:
            yield "drawn"


def _second(beside: Sequence[Sampled], kernels: Sequence[MicroKernel], source: random.Random) -> Iterator[Sampled]:
    for parent in source.sample(list(beside), len(beside)):
        children = [one for _, one in Sampler(parent, kernels).neighbours()]
        yield from source.sample(children, len(children))


def _drawn(samplers: Sequence[Sampler]) -> Iterator[tuple[str, Sampled]]:
    """Draws of some samplers in turns, of the planner's space and two-level tilings; ends where a round brings nothing new."""
    seen = set[Point]()
    while samplers:
        batch = [one for sampler in samplers for one in sampler.drawn(max(2, DRAWN_AT_ONCE // len(samplers)))]
        new = [(space, one) for space, one in batch if one.point not in seen]
        if not new:
            return
        seen.update(one.point for _, one in new)
        yield from new


def _interleaved(found: Iterable[Iterator[Entry]]) -> Iterator[Entry]:
    return (entry for entry in chained.from_iterable(zip_longest(*found)) if entry is not None)
