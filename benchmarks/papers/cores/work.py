"""What blocks of a program take on a core that has all it needs in its private caches: the price of their plan, divided.

The price of a plan says what each operator takes, and what packing takes. A block takes of these what it has of the operator's
points and of the elements that are copied. Traffic from shared levels is left out: the caches of the simulator know it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from tilewright.block.integers import Variable
from tilewright.block.program import Region
from tilewright.block.statements import Fill, Leaf, Statement, Transfer
from tilewright.block.walk import Walk, block_count
from tilewright.coefficients import coefficients_for
from tilewright.plan.types import Plan, TermKind

PACKED = ""
"""In the place of an operator: elements that are copied."""
LEFT_OUT = (TermKind.VISIBLE_TRAFFIC, TermKind.TRAFFIC, TermKind.SPILLS, TermKind.CALL, TermKind.REGION)
Units = Mapping[str, int]
"""Points by operator."""


@dataclass(frozen=True, slots=True)
class PlanWork:
    """Seconds of a unit of every operator of a plan."""

    unit_s: Mapping[str, float]

    def seconds(self, units: Units) -> float:
        """Of so many units."""
        return sum(self.unit_s[name] * count for name, count in units.items())


class CountedWalk(Walk):
    """A walk that counts the units of what it meets."""

    def __init__(self, variables: Mapping[Variable, int]) -> None:
        super().__init__(variables)
        self.units: Counter[str] = Counter()

    def statement(self, node: Statement) -> None:
        count_units(self, node, self.units)


def count_units(walk: Walk, node: Statement, units: Counter[str]) -> None:
    """Add those of a statement where a walk stands."""
    match node:
        case Leaf():
            units[node.operator.name] += prod(max(walk.at(span.size), 0) for _, span in node.box)
        case Transfer():
            units[PACKED] += prod((walk.at(node.depth), walk.at(node.columns), *(walk.at(size) for _, size, _ in node.outer)))
        case Fill():
            pass


def work_of(plan: Plan, regions: Sequence[Region], variables: Mapping[Variable, int]) -> PlanWork:
    """What a unit takes, so that all blocks of all regions of a plan on one core take what its price says."""
    walk = CountedWalk(variables)
    for region in regions:
        walk.blocks(region, range(block_count(region, walk.values)))
    by_operator, total = private_seconds(plan)
    met = sum(seconds for name, seconds in by_operator.items() if walk.units[name])
    if not met:
        return PlanWork({name: total / sum(walk.units.values()) for name in walk.units})
    return PlanWork({name: by_operator.get(name, 0.0) * total / met / count for name, count in walk.units.items()})


def private_seconds(plan: Plan) -> tuple[dict[str, float], float]:
    """The seconds of every operator and of packing, and those of all of the plan; none of traffic from shared levels."""
    coefficients, levels = coefficients_for(plan.machine), plan.machine.levels
    private = {level.name for level, behind in pairwise(levels) if behind.shared_by_cores == 1}
    longest: dict[str, float] = defaultdict(float)
    visible_s = 0.0
    for term in plan.price.terms:
        if term.kind.overlaps and (not term.level or term.level in private):
            longest[term.operator] = max(longest[term.operator], term.seconds)
        if term.level in private:
            shown = coefficients.visible_l1_traffic if term.level == levels[0].name else coefficients.visible_traffic
            visible_s += shown * term.seconds / coefficients.overlapped_traffic
    others = [term for term in plan.price.terms if not term.kind.overlaps and term.kind not in LEFT_OUT]
    total = sum(longest.values()) + visible_s + sum(term.seconds for term in others)
    packing_s = sum(term.seconds for term in others if term.kind is TermKind.PACKING)
    return {**longest, PACKED: packing_s}, max(total, 0.0)
