"""Choice of micro kernels that are inlined where they are called, once all chains of a model stand.

A linked function is made once per machine, an inlined one in every library and for every way of calling it: as one function with
its loops (`leaves/matrix_tiles/block_programs.py`), or, where it is no tile program, by a compiler. But a call costs
cycles at the end of every tile: stores of a tile overlap less of the next one's loads, and nothing is a constant. Equal products
are called by the same code, and decided together: they are inlined where the calls of all of them cost a share of the model's
predicted time, and a time, that are worth those of a compiler.

So are all kernels that have no functions of single shapes: their text depends on the shapes that a library needs, and libraries
rarely share it. Those of interleaved steps never are: compilers keep the sums of inlined tiles in memory, so that a product of
128 x 768 x 3072 bytes takes 2.4 ms instead of 1.0 (Xeon).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence

from tilewright.graph.types import Graph, planned_extent
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.known_operands import has_known_left
from tilewright.plan.types import ModelPlan, OperatorPlan, Plan
from tilewright.records import replace

CALL_CYCLES = 40.0
"""What a tile takes longer in a function of its own: of 6x64 with 64 and 208 steps in fused chains (Table IV) 20 to 45,
with everything in L1 2 to 6."""
LEAST_GAIN, LEAST_GAIN_S = 0.005, 3e-6
"""Share of a model's time, and seconds of a call, that are worth a compiler's time: some 0.1 s for all shapes of the tiles of a
product, which 3 us of each call return after 30,000 calls."""

Place = tuple[int, str]
"""The number of a plan, and an operator of it."""


def with_inlined_kernels(model_plan: ModelPlan, kernels: Mapping[str, MicroKernel]) -> ModelPlan:
    """The plan with the choice made anew. `kernels` are micro kernels by name."""
    return replace(model_plan, plans=_decided(model_plan.plans, kernels, model_plan.predicted_seconds))


def seconds_at_peak(graph: Graph, machine: Machine) -> float:
    """The time of the products of a graph at the peak of a machine."""
    flops = (2 * math.prod(planned_extent(axis.extent) for axis in op.axes) for op in graph.operators if op.is_contraction())
    return sum(flops) / machine.peak("float32")


def guessed(plans: Sequence[Plan], model_s: float, kernels: Mapping[str, MicroKernel]) -> tuple[Plan, ...]:
    """Some plans of a graph with a guess, before the others stand: as if the whole took the time of its products at the peak."""
    return _decided(plans, kernels, model_s)


def _decided(plans: Sequence[Plan], kernels: Mapping[str, MicroKernel], model_s: float) -> tuple[Plan, ...]:
    """The plans with the choice made anew; `model_s` is the time of the whole model."""
    inlined = _inlined(plans, kernels, model_s)
    return tuple(_marked(plan, number, inlined) for number, plan in enumerate(plans))


def _inlined(plans: Sequence[Plan], kernels: Mapping[str, MicroKernel], model_s: float) -> frozenset[Place]:
    least_s = max(LEAST_GAIN * model_s, LEAST_GAIN_S)
    equal: dict[Hashable, list[tuple[Place, float]]] = {}
    for number, plan in enumerate(plans):
        for part in plan.operators:
            if part.micro_kernel is not None and part.roles is not None:
                kernel = kernels[part.micro_kernel]
                cost_s = _seconds_saved(plan, part, kernel)
                equal.setdefault(_form(plan, part), []).append(((number, part.operator), cost_s))
    return frozenset(place for group in equal.values() if sum(cost for _, cost in group) >= least_s for place, _ in group)


def _form(plan: Plan, part: OperatorPlan) -> Hashable:
    """Equal for products of the same extents by the same kernel."""
    axes = plan.chain.operator(part.operator).axes
    return part.micro_kernel, _steps(plan, part), tuple(planned_extent(axis.extent) for axis in axes)


def _seconds_saved(plan: Plan, part: OperatorPlan, kernel: MicroKernel) -> float:
    """What inlining a kernel saves: infinite where there is no function to call or its text holds the left operand, nothing
    where tiles are slower inlined."""
    assert part.roles is not None
    if kernel.emit_shape is None or has_known_left(plan.chain, plan.chain.operator(part.operator), part.roles, kernel):
        return math.inf
    return 0.0 if kernel.interleave > 1 else call_seconds(plan, part, kernel)


def call_seconds(plan: Plan, part: OperatorPlan, kernel: MicroKernel) -> float:
    """What the calls of a kernel for an operator cost: cycles of every tile, by the steps that a tile takes."""
    operator = plan.chain.operator(part.operator)
    points = math.prod(planned_extent(plan.chain.extents[axis.name]) for axis in operator.axes)
    tiles = points / (kernel.rows * kernel.columns * part.efficiency * _steps(plan, part))
    return tiles * CALL_CYCLES / plan.machine.frequency_hz


def _steps(plan: Plan, part: OperatorPlan) -> int:
    """The depth of a call."""
    depth = part.roles.depth if part.roles is not None else None
    if depth is None:
        return 1
    extent = max(1, planned_extent(plan.chain.extents[depth]))
    block = min((extent, *(loop.tile for loop in plan.schedule.path(part.operator) if loop.axis == depth)))
    return part.calls.steps_of(block) or block


def _marked(plan: Plan, number: int, inlined: Collection[Place]) -> Plan:
    calls = (replace(part.calls, inlined=(number, part.operator) in inlined) for part in plan.operators)
    return replace(plan, operators=tuple(replace(part, calls=of) for part, of in zip(plan.operators, calls, strict=True)))
