"""MatMulIntegerToFloat, DynamicQuantizeMatMul and QGemm beside onnxruntime, over shapes, types and zero points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontend.onnx.operators.contrib.peers import DOMAIN, drawn, drawn_weights, steps_apart, three_results
from tests.support.onnx_operators import operator
from tilewright.errors import InvalidModel

TYPES = st.sampled_from(["uint8", "int8"])
PAIRS = st.sampled_from([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
"""onnxruntime has no product of int8 by uint8."""
EXTENTS = st.integers(1, 40)
FEW = settings(max_examples=5, deadline=None)


def scales(random: np.random.Generator, shape: Any) -> Any:
    return random.uniform(0.005, 0.05, shape).astype(np.float32)


def assert_close(results: tuple[Any, Any, Any]) -> None:
    """Sums are exact; three roundings of float32 may come in another order."""
    peer, compiled, reference = results
    most = np.abs(peer).max(initial=1)
    np.testing.assert_allclose(compiled, reference, rtol=1e-6, atol=1e-6 * most)
    np.testing.assert_allclose(compiled, peer, rtol=1e-6, atol=1e-6 * most)


@FEW
@given(EXTENTS, EXTENTS, EXTENTS, PAIRS, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_matmul_integer_to_float(
    m: int, k: int, n: int, types: tuple[str, str], by_columns: bool, has_zeros: bool, has_bias: bool, is_constant: bool
) -> None:
    (left, right), random = types, np.random.default_rng(m * k * n)
    of_columns = (n,) if by_columns else ()
    values = {
        "a": drawn(random, (2, m, k), left),
        "b": drawn_weights(random, (k, n), right),
        "a_scale": scales(random, ()),
        "b_scale": scales(random, of_columns),
        "a_zero": drawn(random, (), left) if has_zeros else None,
        "b_zero": drawn(random, of_columns, right) if has_zeros else None,
        "bias": scales(random, n) if has_bias else None,
    }
    constants = ("b", "b_scale", "b_zero", "bias") if is_constant else ()
    assert_close(three_results("MatMulIntegerToFloat", values, "float", constants))


@FEW
@given(EXTENTS, EXTENTS, EXTENTS, TYPES, st.booleans(), st.booleans(), st.booleans())
def test_dynamic_quantize_matmul(m: int, k: int, n: int, right: str, by_columns: bool, has_zeros: bool, has_bias: bool) -> None:
    random = np.random.default_rng(m * k * n)
    of_columns = (n,) if by_columns else ()
    # a range of 0 to 255 and whole numbers: no value lies near the middle of two steps
    a = np.float32(0.25) * random.integers(0, 256, (m, k)).astype(np.float32)
    a.reshape(-1)[0] = 63.75
    values = {
        "a": a,
        "b": drawn_weights(random, (k, n), right),
        "b_scale": scales(random, of_columns),
        "b_zero": drawn(random, of_columns, right) if has_zeros else None,
        "bias": scales(random, n) if has_bias else None,
    }
    assert_close(three_results("DynamicQuantizeMatMul", values, "float", ("b", "b_scale")))


def test_dynamic_quantize_matmul_of_zeros() -> None:
    values = {"a": np.zeros((3, 5), np.float32), "b": np.full((5, 4), 7, np.int8), "b_scale": np.float32(0.5)}
    peer, compiled, _ = three_results("DynamicQuantizeMatMul", values, "float")
    np.testing.assert_array_equal(compiled, peer)


@FEW
@given(EXTENTS, EXTENTS, EXTENTS, PAIRS, st.booleans(), st.booleans(), st.sampled_from(["none", "n", "1n", "mn"]))
def test_qgemm_in_float(m: int, k: int, n: int, types: tuple[str, str], trans_a: bool, trans_b: bool, bias: str) -> None:
    values = gemm_operands(m, k, n, types, trans_a, trans_b, bias)
    assert_close(three_results("QGemm", values, "float", alpha=0.5, transA=int(trans_a), transB=int(trans_b)))


@FEW
@given(EXTENTS, EXTENTS, EXTENTS, PAIRS, st.booleans(), st.booleans(), st.sampled_from(["none", "n"]))
def test_qgemm_quantised(m: int, k: int, n: int, types: tuple[str, str], trans_b: bool, by_columns: bool, bias: str) -> None:
    values = gemm_operands(m, k, n, types, False, trans_b, bias, by_columns=by_columns)
    random = np.random.default_rng(m + k + n)
    left, _ = types
    values |= {"y_scale": np.float32(k * 0.05), "y_zero": drawn(random, (), left)}
    peer, compiled, reference = three_results("QGemm", values, left, ("b", "y_scale", "y_zero"), transB=int(trans_b))
    assert steps_apart(compiled, reference) <= 1
    assert steps_apart(compiled, peer) <= 1
    assert (compiled != peer).mean() < 0.02


def gemm_operands(
    m: int, k: int, n: int, types: tuple[str, str], trans_a: bool, trans_b: bool, bias: str, *, by_columns: bool = False
) -> dict[str, Any]:
    (left, right), random = types, np.random.default_rng(m * k * n)
    shapes: dict[str, tuple[int, ...]] = {"n": (n,), "1n": (1, n), "mn": (m, n)}
    of_columns = (n,) if by_columns else ()
    return {
        "a": drawn(random, (k, m) if trans_a else (m, k), left),
        "a_scale": scales(random, ()),
        "a_zero": drawn(random, (), left),
        "b": drawn_weights(random, (n, k) if trans_b else (k, n), right),
        "b_scale": scales(random, of_columns),
        "b_zero": drawn(random, of_columns, right),
        "c": None if bias == "none" else random.integers(-9999, 9999, shapes[bias], np.int32),
    }


A, B, HALF = np.ones((2, 3), np.uint8), np.ones((3, 4), np.int8), np.float32(0.5)


def test_a_result_that_is_half_quantised_is_told() -> None:
    values = {"a": A, "a_scale": HALF, "a_zero": np.uint8(0), "b": B, "b_scale": HALF, "b_zero": np.int8(0)}
    with pytest.raises(InvalidModel, match="one of y_scale and y_zero_point is left out"):
        operator("QGemm", 1, DOMAIN).reference(*values.values(), None, HALF, None)
