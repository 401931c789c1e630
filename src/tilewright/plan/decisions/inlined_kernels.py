"""Choice of micro kernels that are inlined where they are called, once all chains of a model stand.

A linked function is compiled once per machine, an inlined one in every library and for every way of calling it. But a call costs
cycles at the end of every tile: stores of a tile overlap less of the next one's loads, and nothing is a constant. Kernels are
linked while that is a small share of the model's predicted time; beyond, those whose calls cost the most are inlined. So are all
that have no functions of single shapes: their text depends on the shapes that a library needs, and libraries rarely share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from tilewright.graph.types import planned_extent
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.types import ModelPlan, OperatorPlan, Plan

CALL_CYCLES = 40.0
"""What a tile takes longer in a function of its own: of AVX-512 6x64 with 64 and 208 steps in fused chains (Table IV) 20 to 45
(GCC 12), with everything in L1 2 to 6."""
MOST_LOST = 0.005
"""Of a model's time, in calls of linked functions."""

Place = tuple[int, str]
"""The number of a plan, and an operator of it."""


def with_inlined_kernels(model_plan: ModelPlan, kernels: Mapping[str, MicroKernel]) -> ModelPlan:
    """The plan with the choice made anew. `kernels` are micro kernels by name."""
    inlined = _inlined(model_plan, kernels)
    plans = tuple(
        replace(plan, operators=tuple(_marked(part, (number, part.operator) in inlined) for part in plan.operators))
        for number, plan in enumerate(model_plan.plans)
    )
    return replace(model_plan, plans=plans)


def _inlined(model_plan: ModelPlan, kernels: Mapping[str, MicroKernel]) -> frozenset[Place]:
    """Operators by what their calls cost, the dearest first, until all others cost little."""
    parts = {
        (number, part.operator): (plan, part, kernels[part.micro_kernel])
        for number, plan in enumerate(model_plan.plans)
        for part in plan.operators
        if part.micro_kernel is not None and part.roles is not None
    }
    costs = {place: call_seconds(*part) for place, part in parts.items() if part[2].emit_shape is not None}
    return frozenset(_dearest(costs, MOST_LOST * model_plan.predicted_seconds)) | (parts.keys() - costs.keys())


def _dearest(costs: Mapping[Place, float], most_s: float) -> Iterator[Place]:
    left_s = sum(costs.values())
    for place, cost_s in sorted(costs.items(), key=lambda item: (-item[1], item[0])):
        if left_s <= most_s:
            return
        left_s -= cost_s
        yield place


def call_seconds(plan: Plan, part: OperatorPlan, kernel: MicroKernel) -> float:
    """What the calls of a kernel for an operator cost: cycles of every tile, by the steps that a tile takes."""
    operator = plan.chain.operator(part.operator)
    points = prod(planned_extent(plan.chain.extents[axis.name]) for axis in operator.axes)
    tiles = points / (kernel.rows * kernel.columns * part.efficiency * _steps(plan, part))
    return tiles * CALL_CYCLES / plan.machine.frequency_hz


def _steps(plan: Plan, part: OperatorPlan) -> int:
    """The depth of a call."""
    assert part.roles is not None
    depth = part.roles.depth
    if depth is None:
        return 1
    extent = max(1, planned_extent(plan.chain.extents[depth]))
    block = min((extent, *(loop.tile for loop in plan.schedule.path(part.operator) if loop.axis == depth)))
    return part.calls.steps_of(block) or block


def _marked(part: OperatorPlan, inlined: bool) -> OperatorPlan:
    return part if part.calls.inlined == inlined else replace(part, calls=replace(part.calls, inlined=inlined))
