"""Small chains and hand-made plans for tests that compile: no planner, no tracing, no detected machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from tests.support.operators import contraction, mapping, softmax, tensors_of
from tilewright.artifact import Artifact
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.types import Chain, Constant, Extent, Graph, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.registry import for_machine, registered
from tilewright.machine import Machine
from tilewright.plan.decisions.execution import with_execution, with_leaves
from tilewright.plan.layout import panels
from tilewright.plan.regions.epilogues import maps_in_tiles
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule
from tilewright.plan.types import Floor, ModelPlan, OperatorPlan, Plan, Price
from tilewright.plan.whole_model.partition import with_layouts
from tilewright.render.c.program import Program, emit_program, lower_program

NEST = re.compile(r"^static void (map|rows|pack)_[0-9a-f]{8}\(", re.MULTILINE)
"""Where the function of a shared nest begins."""


def gemm_chain(extents: Mapping[str, Extent], *, batch: bool = False, middle: str = "", suffix: str = "") -> Chain:
    """C[m,l] = A[m,k] B[k,l]; optionally softmax or relu of C; E[m,n] = C[m,l] D[l,n]. With `batch`, everything has axis b."""
    b = "b" if batch else ""
    first = contraction("scores", f"A:{b}mk", f"B:{b}kl", f"C{suffix}:{b}ml", extents)
    operators = [first]
    weights = f"C{suffix}"
    if middle == "softmax":
        weights = f"P{suffix}"
        operators.append(softmax("weights", f"C{suffix}:{b}ml", f"{weights}:{b}ml", "l", extents))
    if middle == "relu":
        weights = f"P{suffix}"
        relu = apply("maximum", Load(0), apply("subtract", Load(0), Load(0)))
        operators.append(mapping("weights", relu, [f"C{suffix}:{b}ml"], f"{weights}:{b}ml", extents))
    operators.append(contraction("out", f"{weights}:{b}ml", f"D:{b}ln", f"E{suffix}:{b}mn", extents))
    return chain(f"chain{suffix}", operators)


def chain(name: str, operators: Sequence[Operator]) -> Chain:
    """A chain with its tensors, from operators that read each dimension by one axis."""
    return Chain(name, tensors_of(operators), tuple(operators))


def hand_plan(one: Chain, schedule: Schedule, machine: Machine, kernel: MicroKernel, parallel_axes: tuple[str, ...] = ()) -> Plan:
    """A plan without prices."""
    contractions = {op.name for op in one.operators if op.is_contraction()}
    maps = maps_in_tiles(one, schedule, dict.fromkeys(contractions, kernel))
    operators = tuple(
        OperatorPlan(op.name, kernel.binding(contraction_roles(op)))
        if op.name in contractions
        else OperatorPlan(op.name, epilogue_of=maps.get(op.name, ""))
        for op in one.operators
    )
    plan = Plan(
        chain=one,
        machine=machine,
        schedule=schedule,
        operators=operators,
        levels=(),
        parallel_axes=parallel_axes,
        movements=(),
        scratch_bytes=0,
        price=Price(()),
        unfused_price=Price(()),
        floor=Floor(0, 0.0, 0, 0.0),
        rejected=(),
    )
    return decided(plan)


def decided(plan: Plan) -> Plan:
    """A plan whose schedule or price was changed by hand, with the details of its execution decided anew."""
    return with_leaves(with_execution(plan, {kernel.name: kernel for kernel in registered()}))


def artifact_of(
    plans: Sequence[Plan], constants: Mapping[str, np.ndarray] | None = None, *, links_kernels: bool = True
) -> Artifact:
    """One library of independent chains, called with their inputs (shared by name) and all their outputs."""
    return emit_program(program_of(plans, constants), links_kernels=links_kernels)


def program_of(plans: Sequence[Plan], constants: Mapping[str, np.ndarray] | None = None) -> Program:
    """The block program of independent chains."""
    tensors = {tensor.name: tensor for plan in plans for tensor in plan.chain.tensors}
    operators = tuple(operator for plan in plans for operator in plan.chain.operators)
    values = tuple((name, Constant(value)) for name, value in (constants or {}).items())
    inputs = tuple(dict.fromkeys(name for plan in plans for name in plan.chain.inputs if name not in dict(values)))
    outputs = tuple(plan.chain.output for plan in plans)
    graph = Graph("test", tuple(tensors.values()), operators, inputs, outputs, values)
    return lower_program(with_layouts(ModelPlan(graph, tuple(map(decided, plans)), ())))


def row_panels(kernel: MicroKernel, middle: str, row_tile: int) -> Schedule:
    """The schedule of fused attention: operands packed per batch, whole rows of scores per block of rows."""
    steps: list[Node] = [Compute("scores"), *([Compute("weights")] if middle else []), Compute("out")]
    packs = [Pack(name, 1, panels(kernel.columns, kernel.interleave)) for name in ("scores", "out")]
    return Schedule((Loop("b", 1, (*packs, Loop("m", row_tile, tuple(steps)))),))


def attention_plan(target: str, middle: str, extents: Mapping[str, Extent], row_tile: int = 24, suffix: str = "") -> Plan:
    """A batched chain by the schedule of `row_panels`, on the first kernel of a target."""
    machine = Machine.named(target)
    kernel = for_machine(machine)[0]
    chain = gemm_chain(extents, batch=True, middle=middle, suffix=suffix)
    return hand_plan(chain, row_panels(kernel, middle, row_tile), machine, kernel, ("b", "m"))


def chain_text(artifact: Artifact) -> str:
    """The part of the file that belongs to the chains and their shared nests, without the vocabulary and the micro kernels."""
    nest = NEST.search(artifact.text)
    return artifact.text[nest.start() if nest else artifact.text.index(" * chain, planned for") - len("/*\n") :]


def random_inputs(one: Chain, sizes: Mapping[str, int] | None = None, seed: int = 0) -> dict[str, np.ndarray]:
    """Standard normal values for every input; `sizes` gives values to symbols."""
    generator = np.random.default_rng(seed)
    shapes = {
        name: tuple(e if isinstance(e, int) else (sizes or {})[e.name] for e in one.tensor(name).shape) for name in one.inputs
    }
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
