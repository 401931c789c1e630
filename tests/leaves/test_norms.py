"""Group norms as one pass of moments and one that ends in what follows, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.support.onnx_models import info, model
from tilewright.onnx import InferenceSession

GROUPS, CHANNELS, EPSILON = 2, 8, 1e-5
SCALE, BIAS = (np.linspace(start, 2, CHANNELS, dtype=np.float32) for start in (-1, 1))


def group_norm() -> list[Any]:
    return [helper.make_node("GroupNormalization", ["x", "s", "b"], ["n"], num_groups=GROUPS, epsilon=EPSILON)]


def exported() -> list[Any]:
    """As exporters write it for operator sets without group norms."""
    rows = [
        helper.make_node("Reshape", ["x", "rows"], ["r"]),
        helper.make_node("InstanceNormalization", ["r", "ones", "zeros"], ["u"], epsilon=EPSILON),
        helper.make_node("Reshape", ["u", "shape"], ["v"]),
    ]
    return [*rows, helper.make_node("Mul", ["v", "s3"], ["m"]), helper.make_node("Add", ["m", "b3"], ["n"])]


def session(nodes: list[Any], shape: tuple[int, ...], precision: str = "float32") -> InferenceSession:
    silu = [helper.make_node("Sigmoid", ["n"], ["g"]), helper.make_node("Mul", ["n", "g"], ["y"])]
    column = (CHANNELS, *(1,) * (len(shape) - 2))
    given = {"s": SCALE, "b": BIAS, "s3": SCALE.reshape(column), "b3": BIAS.reshape(column)}
    given |= {"ones": np.ones(GROUPS, "f4"), "zeros": np.zeros(GROUPS, "f4")}
    given |= {"rows": np.array([0, GROUPS, -1]), "shape": np.array(shape)}
    used = {name for node in nodes for name in node.input}
    constants = {name: value for name, value in given.items() if name in used}
    made = model([*nodes, *silu], [info("x", shape)], [info("y", shape)], constants)
    return InferenceSession(made, precision=precision)


def expected(x: Any) -> Any:
    rows = x.astype(np.float64).reshape(x.shape[0], GROUPS, -1)
    unit = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + EPSILON)
    column = (CHANNELS, *(1,) * (x.ndim - 2))
    y = unit.reshape(x.shape) * SCALE.reshape(column) + BIAS.reshape(column)
    return y / (1 + np.exp(-y))


def image(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("nodes", [group_norm, exported])
@pytest.mark.parametrize("shape", [(1, CHANNELS, 5, 7), (2, CHANNELS, 47, 31)], ids=["short rows", "long rows"])
def test_a_norm_and_what_follows_are_one_operator(nodes: Any, shape: tuple[int, ...]) -> None:
    run = session(nodes(), shape)
    np.testing.assert_allclose(run.run(None, {"x": image(shape)})[0], expected(image(shape)), rtol=2e-5, atol=2e-5)
    assert sum(len(plan.chain.operators) for plans in run.model_plans() for plan in plans.plans) == 1


def test_first_points_far_from_the_mean() -> None:
    """Sums about a first point that lies 63 deviations away lose four digits of the variance."""
    shape = (1, CHANNELS, 47, 31)
    x, run = image(shape), session(group_norm(), shape)
    x[0, ::4, 0, 0] = 3000
    np.testing.assert_allclose(run.run(None, {"x": x})[0], expected(x), rtol=2e-5, atol=2e-5)
    x = np.float32(1000) + image(shape)
    np.testing.assert_allclose(run.run(None, {"x": x})[0], expected(x), rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_group(value: float) -> None:
    x = image((1, CHANNELS, 47, 31))
    x[0, 5, 40, 3] = value
    y = session(group_norm(), x.shape).run(None, {"x": x})[0]
    assert np.isnan(y[0, 4:]).all()
    assert np.isfinite(y[0, :4]).all()


def test_strict_results_end_apart() -> None:
    shape = (1, CHANNELS, 9, 6)
    y = session(group_norm(), shape, "strict").run(None, {"x": image(shape)})[0]
    np.testing.assert_allclose(y, expected(image(shape)), rtol=2e-5, atol=2e-5)
