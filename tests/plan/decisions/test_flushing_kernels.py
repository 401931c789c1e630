"""Kernels that take denormal numbers for zeros are for `precision="bf16"` alone, wherever a plan comes from."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import compiler
from tilewright.backends.c_cpu import BACKEND
from tilewright.errors import InternalError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.decisions.micro_kernel import check_exact
from tilewright.plan.tuned import choice_of, encoded, problem_key
from tilewright.plan.types import ModelPlan, Tuned
from tilewright.precision import Precision
from tilewright.report.explain import explain
from tilewright.runtime.tuning.plans import with_winners

KERNELS = registry.by_name()


def product(dtype: str) -> Graph:
    builder = Builder("f")
    x, w = builder.input("x", (64, 256), dtype), builder.constant(np.ones((256, 512), np.float32))
    return builder.graph((builder.matmul(x, builder.cast(w, dtype)).name,))


def planned(dtype: str, machine: str, precision: Precision) -> ModelPlan:
    return compiler.plan(product(dtype), Machine.named(machine), precision=precision)


def chosen(plan: ModelPlan) -> list[str]:
    return [one.micro_kernel for part in plan.plans for one in part.operators if one.micro_kernel]


@pytest.mark.parametrize(
    ("machine", "kernel"), [("sapphirerapids", "matmul_amx_bf16_128x32"), ("zen4", "matmul_avx512_bf16dots_12x32")]
)
def test_they_are_chosen_where_they_are_allowed_and_fast(machine: str, kernel: str) -> None:
    for dtype in ("float32", "bfloat16"):
        plan = planned(dtype, machine, Precision.BF16)
        assert chosen(plan) == [kernel]
        assert 'denormal numbers count as zeros, which precision="bf16" allows' in explain(plan)


@pytest.mark.parametrize("precision", [one for one in BACKEND.precisions if one is not Precision.BF16])
def test_other_precisions_never_take_them(precision: Precision) -> None:
    for machine in ("sapphirerapids", "zen4"):
        assert not any(KERNELS[name].flushes for name in chosen(planned("bfloat16", machine, precision)))


def test_plans_from_elsewhere_that_have_them_are_refused() -> None:
    (allowed,) = (one for one in planned("bfloat16", "zen4", Precision.BF16).plans if one.operators[0].micro_kernel)
    check_exact(allowed, KERNELS, flushing=True)
    with pytest.raises(InternalError, match="takes denormal numbers for zeros"):
        check_exact(allowed, KERNELS)


def test_a_tuned_plan_that_has_them_is_left_aside_where_they_are_not_allowed() -> None:
    """Both precisions have the same chain, and so one entry in the database."""
    with_dots, without = (planned("bfloat16", "zen4", one) for one in (Precision.BF16, Precision.FLOAT32))
    (tuned,) = (one for one in with_dots.plans if one.operators[0].micro_kernel)
    found = {problem_key(tuned.chain): encoded(choice_of(tuned, Tuned(1.0, 2.0, 3)))}
    assert problem_key(tuned.chain) in {problem_key(plan.chain) for plan in without.plans}
    assert chosen(with_winners(without, found)) == chosen(without)
    assert chosen(with_winners(with_dots, found)) == chosen(with_dots)
    assert any(plan.tuned for plan in with_winners(with_dots, found).plans)
