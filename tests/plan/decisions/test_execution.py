"""Execution details: what is decided, that code generation follows it, and that results do not depend on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tests.support.chains import attention_plan
from tests.support.graphs import random
from tilewright.artifact import Artifact
from tilewright.block.execution import Execution, KernelCalls, Sums, Vectors
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.kernels.registry import registered
from tilewright.machine import Filling, Machine
from tilewright.plan.decisions.execution import set_period_bytes
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c.program import emit_program, lower_program
from tilewright.runtime.executable import load

TARGET = "x86-64-v4"


def planned(function, *shapes, target=TARGET) -> ModelPlan:
    return tw.jit(function, target=target).lower(*map(tw.spec, shapes)).model_plan


def product(*shapes, target=TARGET) -> Plan:
    (plan,) = planned(lambda x, w: x @ w, *shapes, target=target).plans
    return plan


def causal(x, y):
    scores = x @ y
    rows, keys = tw.arange(scores.shape[0])[:, None], tw.arange(scores.shape[1])[None, :]
    return tw.softmax(tw.where(keys <= rows, scores, -np.inf), axis=-1) @ x


def calls(plan: Plan) -> KernelCalls:
    return plan.operators[0].calls


def test_long_sums_are_cut_and_short_ones_are_not() -> None:
    assert calls(product((64, 4096), (4096, 64))).most_steps == 0
    assert calls(product((64, 4097), (4097, 64))).most_steps == 1024


def test_few_rows_read_slices_of_many_columns() -> None:
    assert calls(product((1, 512), (512, 3000))).slice_steps == 8
    assert calls(product((24, 512), (512, 3000))).slice_steps == 0
    assert calls(product((1, 512), (512, 16))).slice_steps == 0
    narrow = product((1, 512), (512, 700))
    assert narrow.schedule.path("matmul")[-1].tile == 128, "blocks are no wider than a panel"
    assert calls(narrow).slice_steps == 0


def test_only_rows_in_place_are_sliced() -> None:
    """Columns of a transposed operand lie apart, whatever its extents are."""
    (plan,) = planned(lambda x, w: x @ w.T, (1, 512), (3000, 512)).plans
    assert calls(plan).slice_steps == 0


def test_panels_of_kernels_that_prefetch_are_read_in_slices() -> None:
    (plan,) = planned(lambda x: x @ np.ones((1024, 1024), np.float32), (1024, 1024), target="cascadelake-6240").plans
    kernel = next(kernel for kernel in registered() if kernel.name == plan.operators[0].micro_kernel)
    assert kernel.emit_prefetching is not None
    assert 2 * calls(plan).panel_slice_bytes == plan.machine.levels[0].size_bytes
    one_tile = planned(lambda x: x @ np.ones((1024, 1024), np.float32), (6, 1024), target="cascadelake-6240").plans[0]
    assert calls(one_tile).panel_slice_bytes == 0, "one tile reads panels end to end"


def test_tiles_ask_for_rows_of_right_operands_in_memory() -> None:
    packed, in_place = product((64, 2048), (2048, 2048)), product((35, 2560), (2560, 8457))
    assert calls(packed).asks_ahead
    assert calls(in_place).asks_ahead
    assert not calls(product((12, 2048), (2048, 2048))).asks_ahead, "rows of a group of steps outnumber tiles"
    assert not calls(product((84, 256), (256, 256))).asks_ahead, "caches hold it"
    assert not calls(planned(lambda x: x @ np.ones((2048, 2048), np.float32), (64, 2048)).plans[0]).asks_ahead


def test_long_blocks_of_a_causal_mask_come_first() -> None:
    (plan,) = planned(causal, (512, 64), (64, 512)).plans
    assert plan.execution.descends == (True,)
    (plain,) = planned(lambda x, y: tw.softmax(x @ y, axis=-1) @ x, (512, 64), (64, 512)).plans
    assert plain.execution.descends == (False,)


def test_rows_spread_over_the_sets_that_addresses_in_a_page_select() -> None:
    machine = Machine.named(TARGET)
    nearest, *farther = machine.levels
    assert set_period_bytes(machine) == 4096
    one_way = replace(nearest, associativity=nearest.size_bytes // (32 * nearest.line_bytes))
    assert set_period_bytes(replace(machine, levels=(one_way, *farther))) == 2048
    scratchpad = replace(nearest, filling=Filling.SOFTWARE, associativity=0)
    assert set_period_bytes(replace(machine, levels=(scratchpad, *farther))) == 0


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize(
    "changed",
    [
        Execution(vectors=Vectors(accumulators=2), descends=(False, False), set_period_bytes=4096),
        Execution(Sums(long_steps=2, block_steps=8), descends=(False, False), set_period_bytes=4096),
        Execution(descends=(False, False), set_period_bytes=0),
        Execution(descends=(False, False), set_period_bytes=1024),
        Execution(descends=(True, True), set_period_bytes=4096),
    ],
)
def test_code_generation_follows_the_plan_and_results_stay(changed: Execution) -> None:
    """Whatever the details are, sums of float32 are right up to rounding."""
    plan = attention_plan("x86-64-v3", "softmax", {"b": 2, "m": 51, "k": 64, "l": 256, "n": 64})
    other = replace(plan, execution=changed)
    assert text(other) != text(plan)
    results = [run(artifact(version)) for version in (plan, other)]
    expected = exact(plan)
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("calls", [KernelCalls(most_steps=64), KernelCalls(slice_steps=8)], ids=["long sums", "few rows"])
def test_calls_of_part_of_the_depth_add_up(calls: KernelCalls) -> None:
    """The depth is no multiple of the steps, and rows are no multiple of tiles: the last call is shorter."""
    plan = attention_plan("x86-64-v3", "softmax", {"b": 1, "m": 7, "k": 100, "l": 203, "n": 70})
    other = replace(plan, operators=tuple(replace(part, calls=calls) if part.micro_kernel else part for part in plan.operators))
    np.testing.assert_allclose(run(artifact(other)), exact(plan), rtol=1e-4, atol=1e-4)


def artifact(plan: Plan) -> Artifact:
    """The chain alone, by the plan as it is."""
    chain = plan.chain
    graph = Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return emit_program(lower_program(ModelPlan(graph, (plan,), ())))


def text(plan: Plan) -> str:
    return artifact(plan).source


def run(artifact: Artifact) -> np.ndarray:
    executable = load(artifact, threads=2)
    inputs = [random(*slot.shape, seed=number) for number, slot in enumerate(artifact.signature.inputs)]
    (output,) = executable.new_outputs(inputs)
    executable.run(inputs, [output])
    return output


def exact(plan: Plan) -> np.ndarray:
    chain = plan.chain
    inputs = {name: random(*chain.tensor(name).shape, seed=number) for number, name in enumerate(chain.inputs)}
    graph = Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return evaluate(graph, inputs, dtype="float64")[chain.output]
