"""What runs say of every kind of leaf, beside the addresses that its C touches: the same lines, read and written."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from tests.leaves.problems import PROBLEMS, Adding
from tests.oracles.instrumented import LINE_BYTES, Lines, touched
from tests.oracles.trace_replay import Placement, Replay, record
from tests.support.algorithms import forced
from tests.support.block_programs import constants
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph, Tensor
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import lower_program

EXTENT = 19
"""Along the lanes of a leaf."""


def products(builder: Builder, suffix: str, columns: int) -> Tensor:
    """A batch with an operator behind it, and a right operand that is read turned."""
    left, right = builder.input(f"x{suffix}", (2, 7, 33), "float32"), builder.input(f"y{suffix}", (2, 33, columns), "float32")
    product = builder.map("maximum", builder.matmul(left, right), builder.input(f"z{suffix}", (columns,), "float32"))
    return builder.matmul(product, builder.transpose(builder.input(f"w{suffix}", (5, columns), "float32"), (1, 0)))


CASES = {**PROBLEMS, "matrix tiles": ("", (products,))}


def planned(leaf: str) -> tuple[Graph, ModelPlan]:
    """Problems of a leaf, each an operator of its own, for portable vectors."""
    algorithm, problems = CASES[leaf]
    builder = Builder("runs")
    made = [problem(builder, f"_{number}", EXTENT) for number, problem in enumerate(problems) if _needs_no_data(problem)]
    with forced(algorithm) if algorithm else nullcontext():
        graph = builder.graph(tuple(result.name for result in made))
        return graph, compiler.plan(graph, Machine.named("x86-64-v2"))


def _needs_no_data(problem: Adding) -> bool:
    """Whether no position is looked up: which lines are touched then depends on the data."""
    builder = Builder("one")
    graph = builder.graph((problem(builder, "", EXTENT).name,))
    return not any(read.lookups for operator in graph.operators for read in operator.reads)


def by_runs(model_plan: ModelPlan, names: list[str]) -> dict[str, Lines]:
    """The lines of some arguments that the block program touches."""
    program = lower_program(model_plan)
    touches, places = record(program), Replay(program, LINE_BYTES, {}, Placement(), every_step=False).places
    lines = {}
    for name in names:
        mine = touches.owners == touches.buffers.index(name)
        local = touches.lines - places[name].start // LINE_BYTES
        lines[name] = set(local[mine & ~touches.writes].tolist()), set(local[mine & touches.writes].tolist())
    return lines


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("leaf", CASES)
def test_runs_are_what_c_touches(leaf: str) -> None:
    graph, model_plan = planned(leaf)
    random = np.random.default_rng(0)
    shapes = {name: graph.tensor(name) for name in graph.inputs}
    inputs = {name: random.integers(0, 2, tensor.shape).astype(tensor.dtype) for name, tensor in shapes.items()}
    found = touched(model_plan, inputs | constants(model_plan))
    assert found == by_runs(model_plan, [*found])
    assert all(writes for _, writes in (found[name] for name in graph.outputs))
