"""Small programs with chosen schedules, and nothing but schedules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.support.chains import gemm_chain, hand_plan
from tilewright.graph.types import Chain, Constant, Extent, Graph
from tilewright.kernels.registry import registered
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import Program, lower_program

KERNEL = next(kernel for kernel in registered() if kernel.name == "matmul_avx512_f32_6x64")


def program(
    chain: Chain, schedule: Schedule, parallel_axes: tuple[str, ...] = (), constants: Mapping[str, np.ndarray] | None = None
) -> Program:
    """One chain, lowered for AVX-512: its trace runs anywhere."""
    plan = hand_plan(chain, schedule, Machine.named("x86-64-v4"), KERNEL, parallel_axes)
    values = tuple((name, Constant(value)) for name, value in (constants or {}).items())
    inputs = tuple(name for name in chain.inputs if name not in dict(values))
    graph = Graph("test", chain.tensors, chain.operators, inputs, (chain.output,), values)
    return lower_program(ModelPlan(graph, (plan,), ()))


def nest(order: str, tiles: Mapping[str, int], *body: Node) -> tuple[Node, ...]:
    """Loops around a body, outermost first."""
    for axis in reversed(order):
        body = (Loop(axis, tiles[axis], body),)
    return body


def fused(extents: Mapping[str, Extent], tiles: Mapping[str, int], *, middle: str = "") -> tuple[Chain, Schedule]:
    """Loops m, l; then k with C = A B, whose B lowering copies row by row; then n with E += C D, D's tile packed in panels."""
    out = nest("n", tiles, Pack("out", 1, panels(KERNEL.columns)), Compute("out"))
    weights = [Compute("weights")] if middle else []
    schedule = Schedule(nest("ml", tiles, *nest("k", tiles, Compute("scores")), *weights, *out))
    return gemm_chain(extents, middle=middle), schedule
