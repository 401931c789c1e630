"""Rewrites change last bits only where no discontinuous function reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright.cli.licences import rows
from tilewright.compiler import PLANNING_FORMS, REWRITES, SIMPLIFICATIONS, rewrite, rewrites_for
from tilewright.errors import InternalError
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.expressions.scalar import Literal, apply
from tilewright.graph.expressions.scalar_functions import ROUNDED
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites.exactness.mark_exact import MarkExact
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.precision import Precision

W, S = random(6, 4, seed=1), random(4, seed=2)
SLOPES = random(4, seed=3)
Function = Callable[..., Any]


def traced(function: Function, *shapes: tuple[int, ...]) -> Graph:
    return trace(function, [TensorSpec(shape, name=f"x{i}") for i, shape in enumerate(shapes)])


def functions(graph: Graph) -> set[str]:
    return {function for operator in graph.operators for function in operator.functions()}


def kinds(graph: Graph) -> set[str]:
    return {operator.kind for operator in graph.operators}


def marked(function: Function, *shapes: tuple[int, ...]) -> list[str]:
    """The kinds of the operators whose results are marked."""
    graph = rewrite(traced(function, *shapes), (*REWRITES[: REWRITES.index(MarkExact()) + 1],))
    return [operator.kind for operator in graph.operators if graph.tensor(operator.write.tensor).needs_exact]


def gelu(x: Any) -> Any:
    return x * 0.5 * (1 + tw.erf(x * np.float32(np.sqrt(0.5))))


def shares(x: Any) -> Any:
    powers = tw.exp(x - tw.max(x, axis=1, keepdims=True))
    return powers / tw.sum(powers, axis=1, keepdims=True)


CHANGES: dict[str, tuple[Function, Callable[[Graph], bool]]] = {
    "reciprocals of numbers": (lambda x: x / 41.0, lambda graph: "divide" not in functions(graph)),
    "reciprocals of constants": (lambda x: x / np.arange(1, 7, dtype=np.float32), lambda graph: "divide" not in functions(graph)),
    "factors in weights": (lambda x: (x @ W) * S, lambda graph: "scale" in kinds(graph)),
    "named functions": (gelu, lambda graph: "gelu" in functions(graph)),
    "known rows": (shares, lambda graph: "softmax" in kinds(graph)),
    "scales in rows": (lambda x: tw.softmax(x @ W * 0.5), lambda graph: kinds(graph) == {"matmul", "softmax"}),
    "multiply-adds": (lambda x: x * x + 1.5, lambda graph: ROUNDED not in functions(graph)),
    "rescaled rows": (
        lambda x: tw.softmax(x @ W) @ W.T,
        lambda graph: any(operator.reduction is not None and operator.reduction.rescales for operator in graph.operators),
    ),
}
DISCONTINUOUS: dict[str, Function] = {
    "floor": tw.floor,
    "ceil": lambda x: -tw.floor(-x),
    "mod": lambda x: x % 1.0,
    "a cast to integers": lambda x: x.astype("int32"),
    "a comparison": lambda x: x >= 1.0,
    "a choice between other values": lambda x: tw.where(x >= 1.0, x, 0.0),
    "a floor behind a transpose, a relu and a maximum": lambda x: tw.floor(tw.max(tw.relu(x).T, axis=0)),
    "a floor beside another reader": lambda x: (tw.floor(x), x + 1.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_last_bits_are_free_without_a_discontinuous_reader(name: str) -> None:
    function, is_changed = CHANGES[name]
    assert is_changed(rewrite(traced(function, (5, 6))))


@pytest.mark.parametrize("reader", DISCONTINUOUS)
@pytest.mark.parametrize("name", CHANGES)
def test_a_discontinuous_reader_keeps_every_bit(name: str, reader: str) -> None:
    function, is_changed = CHANGES[name]
    assert not is_changed(rewrite(traced(lambda x: DISCONTINUOUS[reader](function(x)), (5, 6))))


@pytest.mark.parametrize("name", CHANGES)
def test_strict_keeps_every_bit(name: str) -> None:
    function, is_changed = CHANGES[name]
    machine = Machine.named("x86-64-v3")
    steps = (*rewrites_for(machine, Precision.STRICT), *PLANNING_FORMS)
    assert not is_changed(rewrite(traced(function, (5, 6)), steps))


CONTINUOUS: dict[str, Function] = {
    "leaky relu": lambda x: tw.where(x < 0, x * 0.1, x),
    "elu": lambda x: tw.where(x > 0, x, 2.0 * (tw.exp(x) - 1)),
    "relu by a choice": lambda x: tw.where(x > 0, x, 0.0),
    "abs by a choice": lambda x: tw.where(x >= 0, x, -x),
    "soft shrink": lambda x: tw.where(x < -0.5, x + 0.5, tw.where(x > 0.5, x - 0.5, 0.0)),
    "parametric relu": lambda x: tw.where(x < 0, x * SLOPES, x),
    "clip": lambda x: tw.clip(x, -1.0, 1.0),
    "abs": tw.abs,
    "a sum of choices by positions": lambda x: tw.sum(tw.where(tw.arange(4) < 3, x, 0.0), axis=1),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_choices_leave_last_bits_free(name: str) -> None:
    graph = rewrite(traced(lambda x: CONTINUOUS[name]((x @ W) * S), (5, 6)))
    assert "scale" in kinds(graph)


@pytest.mark.parametrize(
    "choice",
    [lambda x: tw.where(x > 1.0, x, 0.0), lambda x: tw.where(x < -0.5, x + 0.25, x), lambda x: tw.where(x > x[:, :1], x, 0.0)],
    ids=["thresholded relu", "hard shrink", "by another element"],
)
def test_choices_that_jump_keep_every_bit(choice: Function) -> None:
    assert "scale" not in kinds(rewrite(traced(lambda x: choice((x @ W) * S), (5, 6))))


JUMPS: dict[str, tuple[Function, float]] = {
    "a choice by another value": (lambda q, y: tw.where(q < 1.0, tw.where(y == 20.0, 7.0, 0.0), 0.0), 0.0),
    "a bound that few values reach": (lambda q, y: tw.where(q < 1.0, tw.minimum(y, 10.0), y), 20.0),
    "a small jump that is scaled up": (lambda q, y: tw.where(q < 1.0, y * 1e-10, 0.0) * 1e12, 0.0),
}


@pytest.mark.parametrize("name", JUMPS)
def test_branches_that_are_equal_at_a_few_values_are_not_equal(name: str) -> None:
    choice, expected = JUMPS[name]
    x, y = np.array([41.0], np.float32), np.array([20.0], np.float32)
    assert tw.jit(lambda x, y: choice(x / 41.0, y))(x, y)[0] == expected


def test_a_sum_ends_a_path_and_a_maximum_does_not() -> None:
    assert marked(lambda x: tw.floor(tw.sum(x / 3.0, axis=1)), (5, 6)) == ["sum"]
    assert marked(lambda x: tw.floor(tw.max(x / 3.0, axis=1)), (5, 6)) == ["divide", "max"]
    assert marked(lambda x: tw.floor((x / 3.0) @ W), (5, 6)) == ["matmul"]


def test_both_readers_of_a_value_that_is_written_twice_see_the_same_bits() -> None:
    x = (np.arange(60) * 41).astype(np.float32)
    assert not np.any(tw.jit(lambda x: x / 41.0 - tw.floor(x / 41.0))(x))


def test_products_of_quantised_operands_stay_in_floats_when_strict() -> None:
    machine = Machine.named("x86-64-v3")
    assert Licence.QUANTISED in {step.licence for step in rewrites_for(machine)}
    assert Licence.QUANTISED not in {step.licence for step in rewrites_for(machine, Precision.STRICT)}


@dataclass(frozen=True, slots=True)
class Doubling:
    """A rewrite that changes everything, whatever is marked."""

    licence: ClassVar[Licence] = Licence.ROUNDING
    name: str = "doubling"

    def run(self, graph: Graph) -> Graph:
        doubled = (replace(operator, body=apply("multiply", operator.body, Literal(2.0))) for operator in graph.operators)
        return replace(graph, operators=tuple(doubled))


def test_a_rewrite_that_breaks_its_licence_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="doubling changes last bits of divide"):
        rewrite(traced(lambda x: tw.floor(x / 3.0), (5,)), (MarkExact(), Doubling()))


def test_every_rewrite_and_algorithm_is_in_the_table() -> None:
    named = {(kind, name) for kind, name, _, _ in rows()}
    assert {("rewrite", step.name) for step in (*REWRITES, *SIMPLIFICATIONS, *PLANNING_FORMS)} <= named
    assert {licence for _, _, licence, _ in rows()} == set(Licence)


# Constants of extreme sizes


@pytest.mark.parametrize(("left", "right", "factor"), [(1e-20, 1e20, 1e25), (1e20, 1e-20, 1e-30)])
@pytest.mark.parametrize("columns", [4, 80], ids=["values known to planning", "values known when loaded"])
def test_weights_do_not_take_in_factors_that_leave_the_range(left: float, right: float, factor: float, columns: int) -> None:
    x, weights = np.full((2, 8), left, np.float32), np.full((8, columns), right, np.float32)
    scales = np.full(columns, factor, np.float32)
    np.testing.assert_allclose(tw.jit(lambda x: (x @ weights) * scales)(x), (x @ weights) * scales, rtol=1e-6)


def test_code_that_is_kept_does_not_combine_the_extreme_constants_of_other_weights() -> None:
    for size in (1.0, 1e25):
        weights, scales = np.full((8, 80), 1 / size, np.float32), np.full(80, size, np.float32)
        x = np.full((2, 8), 0.5, np.float32)
        np.testing.assert_allclose(tw.jit(lambda x: (x @ weights) * scales)(x), (x @ weights) * scales, rtol=1e-6)  # noqa: B023


def test_divisors_of_extreme_sizes_stay_divisors() -> None:
    divisors = np.full(80, 1e-42, np.float32)
    x = np.full((2, 80), 1e-40, np.float32)
    np.testing.assert_allclose(tw.jit(lambda x: x / divisors)(x), x / divisors, rtol=1e-6)


# Code


def test_products_behind_which_a_floor_stands_are_rounded_alone() -> None:
    x, y = (random(4000, seed=seed) * 64 for seed in (1, 2))
    np.testing.assert_array_equal(tw.jit(lambda x, y: tw.floor(x * y + 1.5))(x, y), np.floor(x * y + np.float32(1.5)))


def test_rows_are_divided_where_a_floor_reads_the_quotient() -> None:
    x = np.arange(1, 36, dtype=np.float32).reshape(5, 7)
    found = tw.jit(lambda x: tw.floor(x * 35 / tw.max(x, axis=1, keepdims=True)))(x)
    np.testing.assert_array_equal(found, np.floor(x * np.float32(35) / x.max(axis=1, keepdims=True)))


def test_means_of_windows_are_quotients_where_a_floor_reads_them() -> None:
    for taps in (41, 47, 55):
        x = np.repeat(np.arange(1, 9, dtype=np.float32), taps).reshape(1, 1, -1)
        found = tw.jit(lambda x: tw.floor(tw.avg_pool(x, (taps,), stride=(taps,))))(x)  # noqa: B023
        np.testing.assert_array_equal(found.ravel(), np.arange(1, 9))
