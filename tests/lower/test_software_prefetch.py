"""Software prefetch changes no result, whatever the strides, and asks for all that the next block reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.codegen.test_online_rows import KERNEL, MACHINE, interpreted
from tests.support.chains import artifact_of, chain, chain_text, gemm_chain, hand_plan, random_inputs
from tests.support.operators import contraction
from tilewright import compiler
from tilewright.api.calls.calling import Called
from tilewright.api.kernel import Kernel
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.schedule import fused_schedule
from tilewright.plan.types import Plan
from tilewright.runtime.executable import load

EXTENTS = {"b": 3, "m": 29, "k": 7, "l": 37, "n": 18}


def _plan(outer_loops: tuple[str, ...], tiles: dict[str, int]) -> Plan:
    one = gemm_chain(EXTENTS, batch=True)
    schedule = fused_schedule(one, outer_loops, {}, tiles)
    plan = hand_plan(one, schedule, MACHINE, KERNEL, parallel_axes(one, schedule))
    return replace(plan, prefetched_inputs=("A", "B", "D"), prefetching_operators=tuple(op.name for op in one.operators))


@pytest.mark.parametrize(
    ("outer_loops", "tiles"), [(("b",), {"b": 1}), (("b", "m"), {"b": 1, "m": 12}), (("b", "m"), {"b": 1, "m": 8})]
)
def test_results_stay_the_same_for_any_strides(outer_loops: tuple[str, ...], tiles: dict[str, int]) -> None:
    plan = _plan(outer_loops, tiles)
    inputs = random_inputs(plan.chain)
    executable = load(artifact_of([plan]), threads=1)
    strided = [np.repeat(array, 2, axis=-1)[..., ::2] for array in inputs.values()]
    for given in (list(inputs.values()), strided, [np.asfortranarray(array) for array in inputs.values()]):
        result = np.full((3, 29, 18), np.nan, np.float32)
        executable.run(given, (result,))
        np.testing.assert_allclose(result, interpreted(plan.chain, inputs), rtol=1e-5, atol=1e-5)


def test_all_lines_of_the_next_block_are_asked_for() -> None:
    text = chain_text(artifact_of([_plan(("b", "m"), {"b": 1, "m": 12})]))
    tiles = -(-12 // KERNEL.rows) * (-(-37 // KERNEL.columns) + -(-18 // KERNEL.columns))
    lines = {"A": 12, "B": -(-7 * 3 // 3), "D": -(-37 * 2 // 3)}
    for number, (name, all_lines) in enumerate(lines.items()):
        start = next(line for line in text.splitlines() if f"tw_start(&fetches[{number}]" in line)
        assert name in start
        assert start.rstrip().endswith(f", {-(-all_lines // tiles)});")


@pytest.mark.needs("avx512f", "avx512bw", "avx512dq", "avx512vl")
def test_panels_packed_ahead_are_fetched_from_where_they_lie() -> None:
    random = np.random.default_rng(0)
    x, v, w = (random.standard_normal(shape, np.float32) for shape in ((3, 29, 7), (3, 7, 300), (3, 300, 200)))

    def chain(x: Any) -> Any:
        return tw.einsum("bml,bln->bmn", tw.einsum("bmk,bkl->bml", x, v), w)

    lowered = tw.jit(chain, target="x86-64-v4", fuse=True).lower(tw.spec(x.shape))
    (plan,) = lowered.model_plan.plans
    assert len(plan.schedule.ahead) == 2
    fetching = replace(
        lowered.model_plan,
        plans=(
            replace(
                plan, prefetched_inputs=plan.chain.inputs, prefetching_operators=tuple(op.name for op in plan.chain.operators)
            ),
        ),
    )
    called = Called(lowered.graph.name, lowered.binder, lowered.traced.call, lowered.traced.result)
    kernel = Kernel(called, compiler.build(fetching, threads=1))
    assert kernel.source.count("tw_start(&fetches") == 3
    np.testing.assert_allclose(kernel(x), chain(x.astype(np.float64)), rtol=1e-4, atol=1e-3)


def test_of_two_reads_of_one_tensor_the_one_that_moves_is_fetched() -> None:
    extents = dict.fromkeys("mkl", 45)
    one = chain("square", [contraction("square", "X:mk", "X:kl", "Y:ml", extents)])
    schedule = fused_schedule(one, ("l",), {}, {"l": 16})
    plan = replace(
        hand_plan(one, schedule, MACHINE, KERNEL, parallel_axes(one, schedule)),
        prefetched_inputs=("X",),
        prefetching_operators=("square",),
    )
    inputs, result = random_inputs(one), np.full((45, 45), np.nan, np.float32)
    load(artifact_of([plan]), threads=1).run(list(inputs.values()), (result,))
    np.testing.assert_allclose(result, interpreted(one, inputs), rtol=1e-4, atol=1e-4)
