"""Schedules of products of integers: kernels of their types that cannot saturate, results compared bit for bit."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.support.proved_operands import largest_pair
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.types import Tensor
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.tuned import problem_key
from tilewright.plan.types import ModelPlan
from tilewright.tune.schedules.cases import choice, kernels_for
from tilewright.tune.schedules.chain_case import NotTunable, chain_case, drawn_factors
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.timing import compiled_models, spoil, wrong

PAIRS = "u8s8pairs"


def planned(bits: int, machine: Machine) -> ModelPlan:
    """u8 x s8 -> s32, all weights at the limits of so many bits."""
    most = 2 ** (bits - 1)
    weights = np.random.default_rng(bits).choice(np.array([-most, most - 1], np.int8), (70, 52))
    builder = Builder("product")
    a = builder.input("a", (23, 70), "uint8")
    c = builder.record(integer_matmul, a, builder.constant(weights, "b"), None, None, kind="matmul")
    return compiler.plan(builder.graph((c.name,)), machine)


@pytest.mark.parametrize("bits", [7, 8])
def test_variants_are_right_to_the_bit(bits: int, tmp_path: Path) -> None:
    model = planned(bits, Machine.detect())
    at = len(model.plans) - 1  # of short integers, a map that widens them may be before
    case, plan = chain_case(model, at), model.plans[at]
    sampler = Sampler(choice(plan), kernels_for(plan.machine), 0)
    others = [one for _, one in sampler.neighbours() if one.point.kernels != sampler.choice.point.kernels]
    found = [sampler.choice, *others, *(one for _, one in sampler.drawn(2))]
    runnables = compiled_models(case, [case.model.with_plan(0, one.plan) for one in found], tmp_path)
    assert wrong(case, runnables) == {}
    result = runnables[0].result
    assert (result.dtype.name, case.error(result)) == ("int32", 0.0)
    result[0, 0] += 1
    assert case.error(result) == float("inf")
    spoil(result)
    assert case.error(result) == float("inf")


@pytest.mark.parametrize("bits", [7, 8])
def test_kernels_that_may_saturate_are_no_neighbours(bits: int) -> None:
    """At 7 bits two weights add up to 128, and the kernel is exact; at 8 to 256."""
    machine = Machine.named("x86-64-v4")
    (plan,) = planned(bits, machine).plans
    steps = Sampler(choice(plan), kernels_for(machine), 0).neighbours()
    used = {kernel for _, one in steps for _, kernel in one.point.kernels}
    known = registry.by_name()
    assert {known[name].element_types for name in used} == {("uint8", "int8", "int32")}
    assert any(PAIRS in name for name in used) == (bits == 7)


def test_what_is_tuned_for_small_weights_is_not_used_for_large_ones() -> None:
    machine = Machine.named("x86-64-v3")
    first, second = (problem_key(planned(bits, machine).plans[0].chain) for bits in (7, 8))
    assert first != second


def test_weights_that_are_drawn_elsewhere_are_within_the_proof() -> None:
    model = planned(7, Machine.named("x86-64-v3"))
    (kernel,) = (registry.by_name()[one.micro_kernel] for one in model.plans[0].operators if one.micro_kernel)
    weights = drawn_factors(np.random.default_rng(0), model.plans[0].chain.tensor("b")).astype(int)
    assert PAIRS in kernel.name
    assert np.abs(weights[:-1] + weights[1:]).max() <= largest_pair(kernel)
    there = pickle.loads(pickle.dumps(chain_case(model, 0)))
    assert there.model.plans == model.plans
    assert np.isfinite(there.reference).all()


def test_arguments_of_integers_have_the_whole_range() -> None:
    values = drawn_factors(np.random.default_rng(0), Tensor("x", (100, 100), "int8"))
    assert (values.min(), values.max()) == (-128, 127)


def test_integers_that_may_be_positions_are_not_drawn() -> None:
    builder = Builder("scaled")
    x = builder.input("x", (8, 16), "uint8")
    w = builder.constant(np.eye(16, dtype=np.int8), "w")
    zero = builder.input("zero", (), "uint8")
    c = builder.record(integer_matmul, x, w, zero, None, kind="matmul")
    with pytest.raises(NotTunable, match="uint8"):
        chain_case(compiler.plan(builder.graph((c.name,)), Machine.detect()), 0)
