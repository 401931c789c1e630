"""The working sets of plans: of every sum of products under the loops of the plan's schedule."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.graph.types import Operator, element_bytes
from tilewright.plan.types import Plan
from tilewright.tune.working_sets.features import nest_features
from tilewright.tune.working_sets.nests import Nest, TileLoop, nest_of


def plan_features(plan: Plan) -> tuple[int, ...]:
    """Bytes of working sets by the fastest level that holds them, memory last, over all contractions of a plan.

    >>> import tilewright as tw
    >>> lowered = tw.jit(lambda x, y: x @ y, target="x86-64-v3").lower(tw.spec((64, 64)), tw.spec((64, 64)))
    >>> features = plan_features(lowered.model_plan.plans[0])
    >>> len(features), features[-1]  # 48 KiB: nothing is left to memory
    (4, 0)
    """
    sizes = {tensor.name: element_bytes(tensor.dtype) for tensor in plan.chain.tensors}
    capacities = [level.size_bytes for level in plan.machine.levels[:-1]]
    found = [nest_features(nest, sizes, capacities) for nest in nests(plan)]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0,) * (len(capacities) + 1)


def nests(plan: Plan) -> Iterator[Nest]:
    """The nest of every contraction."""
    for operator in plan.chain.operators:
        if operator.is_contraction():
            yield nest_of(plan.chain, operator, _loops(plan, operator))


def _loops(plan: Plan, operator: Operator) -> tuple[TileLoop, ...]:
    """The loops of the schedule around an operator, as far as it has their axes."""
    path = plan.schedule.path(operator.name)
    return tuple(TileLoop(loop.axis, loop.tile) for loop in path if loop.axis in operator.axis_names)
