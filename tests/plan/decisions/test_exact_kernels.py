"""Micro kernels that saturate are chosen where weights exclude it, and nowhere else; results are exact at the boundary."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.operators import integer_matmul_reference
from tilewright import compiler
from tilewright.backends import loading
from tilewright.errors import InternalError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.types import Graph
from tilewright.kernels import registered
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import check_exact
from tilewright.plan.types import ModelPlan
from tilewright.report.explain import explain

Array = np.ndarray[Any, Any]
TARGET = Machine.named("x86-64-v3")
PAIRS, SIGNS, SAFE, SHORT = "u8s8pairs", "s8s8signs", "u8s8_", "s16s16"
M, K, N = 5, 64, 96


def graph_of(a_type: str, b: Array | tuple[int, int], zero: int | None = None, rows: int = M) -> Graph:
    """(a - zero) b, with constant weights or with weights as an argument of that shape."""
    builder = Builder("product")
    shape = b if isinstance(b, tuple) else b.shape
    a = builder.input("a", (rows, shape[0]), a_type)
    right = builder.input("b", b, "int8") if isinstance(b, tuple) else builder.constant(b, "b")
    zeros = None if zero is None else builder.constant(np.array(zero, a_type), "zero")
    result = builder.record(integer_matmul, a, right, zeros, None, kind="matmul")
    return builder.graph((result.name,))


def planned(*arguments: Any) -> ModelPlan:
    return compiler.plan(graph_of(*arguments), TARGET)


def chosen(plan: ModelPlan) -> str:
    """The micro kernel."""
    (kernel,) = [part.micro_kernel for one in plan.plans for part in one.operators if part.micro_kernel is not None]
    return kernel


def computed(a: Array, b: Array, zero: int | None = None) -> Array:
    """By a kernel for this target."""
    plan = planned(a.dtype.name, b, zero, len(a))
    given_graph = replace(plan.graph, constants=plan.given)
    executable, constants = loading.load(compiler.generate(plan), given_graph, TARGET, threads=1)
    out = np.empty((len(a), b.shape[1]), np.int32)
    executable.run((a, *constants), (out,))
    return out


def weights(*pairs: tuple[int, int]) -> Array:
    """Small weights, among which these pairs of neighbours along the depth stand."""
    b = np.random.default_rng(0).integers(-20, 21, (K, N)).astype(np.int8)
    for number, pair in enumerate(pairs):
        place = 7 * number + number % 2
        b[max(place - 1, 0) : place + 3, 11 * number] = 0
        b[place : place + 2, 11 * number] = pair
    return b


TYPES = ("uint8", "int8")
RAGGED = ((1, 67, 70, 64), (7, 5, 17, 64), (3, 64, 97, 127), (1, 30, 65, 127), (6, 33, 50, 128))
SAFE_PAIRS = ((100, 28), (-100, -28), (127, 1), (0, -128), (127, -128), (-128, 127), (64, 64), (-64, -64))


def test_pairs_up_to_128_take_the_kernel_that_adds_them_in_16_bits() -> None:
    plan = planned("uint8", weights(*SAFE_PAIRS), 3)
    assert PAIRS in chosen(plan)
    assert "two neighbouring products are at most 32640" in explain(plan)


@pytest.mark.parametrize("pair", [(100, 29), (-100, -29), (65, 64), (-65, -64), (2, 127), (-1, -128)])
def test_a_single_pair_beyond_takes_another_kernel_and_says_why(pair: tuple[int, int]) -> None:
    plan = planned("uint8", weights(*SAFE_PAIRS, pair), 3)
    assert PAIRS not in chosen(plan)
    if SAFE in chosen(plan):
        assert "as a sum against 32767" in explain(plan)


def test_symmetric_weights_take_the_kernel_of_signs_and_others_do_not() -> None:
    """In one row; in many rows 16-bit numbers are faster, and need no proof."""
    symmetric = np.random.default_rng(0).integers(-127, 128, (512, 512)).astype(np.int8)
    assert SIGNS in chosen(planned("int8", symmetric, None, 1))
    assert SHORT in chosen(planned("int8", symmetric, None, 64))
    symmetric[17, 5] = -128
    assert SAFE in chosen(planned("int8", symmetric, None, 1))
    assert SHORT in chosen(planned("int8", symmetric, None, 64))


def test_weights_that_are_arguments_take_a_kernel_that_is_safe_for_all() -> None:
    assert SAFE in chosen(planned("uint8", (K, N)))


def test_a_plan_with_a_kernel_that_may_saturate_is_refused() -> None:
    kernels = {kernel.name: kernel for kernel in registered()}
    for pair, is_refused in (((64, 64), False), ((65, 64), True)):
        (plan,) = planned("uint8", weights(pair, (0, -128)), None, 2).plans
        pairs = kernels["matmul_avx2_u8s8pairs_3x24"]
        operators = tuple(replace(part, leaf=pairs.binding(part.roles)) for part in plan.operators)
        with pytest.raises(InternalError, match="may saturate") if is_refused else nullcontext():
            check_exact(replace(plan, operators=operators), kernels)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("extra", [(), ((65, 64),), ((-65, -64), (127, 127), (-127, -127)), ((-128, -128), (127, 127))])
@pytest.mark.parametrize("a_type", TYPES)
def test_products_are_exact_with_weights_at_the_boundary(a_type: str, extra: tuple[tuple[int, int], ...]) -> None:
    b, limits = weights(*SAFE_PAIRS[: 8 - len(extra)], *extra), np.iinfo(a_type)
    for value in (limits.min, limits.max):
        a = np.full((M, K), value, a_type)
        np.testing.assert_array_equal(computed(a, b), integer_matmul_reference(a, b))
        np.testing.assert_array_equal(computed(a, b, 5), integer_matmul_reference(a, b, 5))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("a_type", TYPES)
@pytest.mark.parametrize(("m", "k", "n", "most"), RAGGED)
def test_products_of_ragged_shapes_are_exact(m: int, k: int, n: int, most: int, a_type: str) -> None:
    random = np.random.default_rng((m, k, n))
    b = random.integers(-most, min(most, 127), (k, n), endpoint=True).astype(np.int8)
    a = random.choice([np.iinfo(a_type).min, np.iinfo(a_type).max], (m, k)).astype(a_type)
    np.testing.assert_array_equal(computed(a, b, 7), integer_matmul_reference(a, b, 7))
