"""Softmax and reductions: their NumPy reference, and the online and split execution that the rescaling rule promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import random, run
from tilewright.errors import ShapeError
from tilewright.graph.builders import elementwise, norms
from tilewright.graph.expressions.scalar import Apply, Literal, Point, Previous, Scalar, State
from tilewright.graph.expressions.scalar_functions import COMBINATIONS, FUNCTIONS
from tilewright.graph.types import Reduction, SymbolicExtent, Tensor

Values = dict[str, Any]


def value(scalar: Scalar, point: Any, states: Values, previous: Values) -> Any:
    """A scalar expression of a reduction, by hand."""
    match scalar:
        case Literal(number):
            return number
        case Point():
            return point
        case State(name):
            return states[name]
        case Previous(name):
            return previous[name]
        case Apply(function, operands):
            return FUNCTIONS[function].numpy(*(value(operand, point, states, previous) for operand in operands))
    raise AssertionError(scalar)


def factor(reduction: Reduction, target: str, states: Values, previous: Values) -> Any:
    return next((value(r.factor, None, states, previous) for r in reduction.rescales if r.target == target), 1.0)


def start(reduction: Reduction) -> Values:
    return {state.name: np.float64(state.identity) for state in reduction.states}


def after_block(reduction: Reduction, states: Values, block: Any) -> Values:
    """One step of the online schedule: later states are corrected for the change of earlier ones, then take the block in."""
    new: Values = {}
    for state in reduction.states:
        old = states[state.name] * factor(reduction, state.name, new, states)
        taken = COMBINATIONS[state.combine].reduce(value(state.contribution, block, new, {}))
        new[state.name] = COMBINATIONS[state.combine](old, taken)
    return new


def merged(reduction: Reduction, parts: Sequence[Values]) -> Values:
    """The states of a split reduction: each part's later states are corrected to the common earlier ones, then combined."""
    new: Values = {}
    for state in reduction.states:
        corrected = [part[state.name] * factor(reduction, state.name, new, part) for part in parts]
        new[state.name] = COMBINATIONS[state.combine].reduce(np.array(corrected))
    return new


def cut(row: Any, at: Sequence[int]) -> list[Any]:
    return [part for part in np.split(row, sorted(set(at))) if len(part)]


rows = st.lists(st.one_of(st.floats(-1e4, 1e4, width=32), st.just(float("-inf"))), min_size=1, max_size=12)
cuts = st.lists(st.integers(0, 12), max_size=4)


@given(rows, cuts)
def test_online_softmax_has_the_states_of_the_whole_row(values: list[float], at: list[int]) -> None:
    reduction, row = norms.ROW_SOFTMAX, np.array(values)
    whole = after_block(reduction, start(reduction), row)
    states = start(reduction)
    for block in cut(row, at):
        states = after_block(reduction, states, block)
    parts = [after_block(reduction, start(reduction), block) for block in cut(row, at)]
    for name in whole:
        np.testing.assert_allclose(states[name], whole[name], rtol=1e-12)
        np.testing.assert_allclose(merged(reduction, parts)[name], whole[name], rtol=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=12), cuts)
def test_sums_of_finished_values_are_corrected_by_the_law_of_the_result(values: list[float], at: list[int]) -> None:
    reduction, row = norms.ROW_SOFTMAX, np.array(values)
    weights = np.cos(np.arange(len(row)))
    states, total, done = start(reduction), 0.0, 0
    for block in cut(row, at):
        new = after_block(reduction, states, block)
        finished = value(reduction.finish, block, new, {})
        total = total * factor(reduction, "result", new, states) + finished @ weights[done : done + len(block)]
        states, done = new, done + len(block)
    np.testing.assert_allclose(total, norms.softmax_reference(row) @ weights, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_softmax_over_any_axis(axis: int) -> None:
    x = random(3, 4, 5)
    tensor = Tensor("x", x.shape)
    actual = run(norms.softmax(tensor, axis, name="s", result="out"), [tensor], {"x": x}, "float64")
    powers = np.exp(x.astype("f8"))
    np.testing.assert_allclose(actual, powers / powers.sum(axis=axis, keepdims=True), rtol=1e-12)


def test_softmax_of_large_infinite_and_missing_values() -> None:
    rows = [[1e4, -1e4, 0.0], [-np.inf, 1.0, 1.0], [-np.inf, -np.inf, -np.inf], [np.nan, 1.0, 2.0], [np.inf, 1.0, 2.0]]
    x = np.array(rows, np.float32)
    tensor = Tensor("x", x.shape)
    actual = run(norms.softmax(tensor, name="s", result="out"), [tensor], {"x": x})
    np.testing.assert_array_equal(actual[:2], [[1, 0, 0], [0, 0.5, 0.5]])
    assert np.isnan(actual[2:4]).all()
    assert np.isnan(actual[4, 0])
    np.testing.assert_array_equal(actual, norms.softmax_reference(x))


@pytest.mark.parametrize("function", ["sum", "prod", "max", "min", "mean"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_mean_what_numpy_says(function: str, axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
    x = random(2, 3, 4)
    tensor = Tensor("x", x.shape)
    built = elementwise.reduce(function, tensor, axis, keepdims, name="r", result="out")
    expected = getattr(np, function)(x.astype("f8"), axis=axis, keepdims=keepdims)
    actual = run(built, [tensor], {"x": x}, "float64")
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_a_mean_over_a_symbol_divides_by_its_value_at_run_time() -> None:
    tensor = Tensor("x", (SymbolicExtent("s", 1, 99, 8), 3))
    x = random(5, 3)
    actual = run(elementwise.reduce("mean", tensor, None, name="r", result="out"), [tensor], {"x": x}, "float64")
    np.testing.assert_allclose(actual, x.astype("f8").mean())


@pytest.mark.parametrize("function", ["max", "min", "mean"])
def test_reductions_of_nothing(function: str) -> None:
    with pytest.raises(ShapeError, match=f"{function} over no elements"):
        elementwise.reduce(function, Tensor("x", (3, 0)), 1, name="r", result="out")


def test_a_sum_of_nothing_is_zero() -> None:
    tensor = Tensor("x", (3, 0))
    assert run(elementwise.reduce("sum", tensor, 1, name="r", result="out"), [tensor], {"x": np.ones((3, 0), "f4")}).tolist() == [
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(("axis", "message"), [(3, "axis 3 does not exist"), ((0, -2), "names a dimension twice")])
def test_axes_that_do_not_exist(axis: int | tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        elementwise.reduce("sum", Tensor("x", (2, 3)), axis, name="r", result="out")
