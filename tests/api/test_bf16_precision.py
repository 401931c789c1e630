"""`precision="bf16"`: products with constant weights within the documented bound, and everything else as without it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
import tilewright.onnx as ort
from tests.support.onnx_models import info, model
from tilewright.cli.main import main
from tilewright.graph.builders.builder import Builder
from tilewright.graph.rewrites.element_types import ShortProducts
from tilewright.machine import Machine

pytestmark = pytest.mark.unverified
"""Verification asks for the results of the operators as they are written."""


FLUSHING = {"avx512_bf16", "amx_bf16"}


def bound(x: Any, w: Any) -> Any:
    """What docs/correctness.md states, of results of numbers that bfloat16 has in their range."""
    (m, k), n = x.shape, w.shape[-1]
    rows, columns = np.abs(x.astype("f8")), np.abs(w.astype("f8"))
    lost = np.full((m, n), k * 2.0**-133)
    if FLUSHING & Machine.detect().features:
        lost = 2.0**-125 * (rows @ np.ones((k, n)) + np.ones((m, k)) @ columns + k)
    return (2.0**-7 + 2.0**-16 + (k + 1) * 2.0**-24) * (rows @ columns) + lost


@settings(max_examples=6, deadline=None)
@given(st.sampled_from([1, 3, 17]), st.integers(1, 90), st.integers(1, 70), st.sampled_from([1e-39, 1.0, 1e18]))
def test_products_are_within_the_bound(m: int, k: int, n: int, size: float) -> None:
    random = np.random.default_rng(m * k + n)
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    x = (x * size).astype(np.float32)
    got = tw.jit(lambda x: x @ w, precision="bf16")(x)
    assert (np.abs(got - x.astype("f8") @ w.astype("f8")) <= bound(x, w)).all()


def test_operands_are_those_of_bfloat16() -> None:
    random = np.random.default_rng(3)
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((5, 64), (64, 48)))
    got = tw.jit(lambda x: x @ w, precision="bf16")(x)
    short = [one.astype(ml_dtypes.bfloat16).astype("f8") for one in (x, w)]
    np.testing.assert_allclose(got, short[0] @ short[1], rtol=0, atol=1e-4)
    assert np.abs(got - x @ w).max() > 1e-3


def test_products_without_a_constant_stay() -> None:
    builder = Builder("f")
    x, y = (builder.input(name, (4, 4), "float32") for name in "xy")
    graph = builder.graph((builder.matmul(x, y).name,))
    assert ShortProducts().run(graph) == graph


def test_weights_that_are_made_of_constants_are_rounded() -> None:
    builder = Builder("f")
    x, w = builder.input("x", (3, 4), "float32"), builder.constant(np.ones((5, 4), np.float32))
    graph = builder.graph((builder.matmul(x, builder.transpose(w, (1, 0))).name,))
    product = ShortProducts().run(graph).operators[-1]
    assert {ShortProducts().run(graph).tensor(access.tensor).dtype for access in product.reads} == {"bfloat16"}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(value: float) -> None:
    x, w = np.ones((2, 8), np.float32), np.ones((8, 8), np.float32)
    x[0, 3] = value
    got = tw.jit(lambda x: x @ w, precision="bf16")(x)
    np.testing.assert_array_equal(got[0], np.full(8, value, np.float32))
    np.testing.assert_array_equal(got[1], np.full(8, 8, np.float32))


def test_sessions_and_commands(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from onnx import helper

    w = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    proto = model([node], [info("x", [3, 8])], [info("y", [3, 16])], {"w": w})
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    (got,) = ort.InferenceSession(proto.SerializeToString(), precision="bf16").run(None, {"x": x})
    assert (np.abs(got - x.astype("f8") @ w.astype("f8")) <= bound(x, w)).all()
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert main(["explain", str(path), "--precision", "bf16"]) in (0, None)
    assert "bfloat16" in capsys.readouterr().out
