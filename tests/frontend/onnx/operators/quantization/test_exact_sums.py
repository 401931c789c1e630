"""Sums of products of bytes that are scaled behind never wrap; those of MatMulInteger do, as ONNX lets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontend.onnx.operators.contrib.peers import DOMAIN
from tests.replay.onnx_text import model
from tilewright.errors import Undecided
from tilewright.frontend.onnx.definition import definition
from tilewright.frontend.onnx.operators.quantization.products import ExactMatMul
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.zero_points import LARGEST_INT32
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.onnx import InferenceSession

ONE, TINY = np.float32(1), np.float32(2**-24)
EXTREMES = {
    "u8u8": (255, np.uint8, 255, np.uint8, 33026),
    "u8s8": (255, np.uint8, -128, np.int8, 65794),
    "s8s8": (-128, np.int8, -128, np.int8, 131072),
}
"""Elements of both operands, and the first number of steps at which a sum of their products leaves int32."""


def computed(op_type: str, values: Mapping[str, Any], result: str, constants: tuple[str, ...] = (), domain: str = "") -> Any:
    """What a session and the reference implementation compute, which are equal."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in arrays.items()
        if name not in constants
    ]
    output = helper.make_tensor_value_info("y", getattr(TensorProto, result.upper()), None)
    node = helper.make_node(op_type, list(values), ["y"], domain=domain)
    weights = [numpy_helper.from_array(arrays[name], name) for name in constants]
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    data = helper.make_model(helper.make_graph([node], "g", inputs, [output], weights), opset_imports=imports, ir_version=10)
    session = InferenceSession(data.SerializeToString())
    (found,) = session.run(None, {name: value for name, value in arrays.items() if name not in constants})
    assert "run as NumPy" not in session.explain()
    known = definition(op_type, 1 if domain else 21, domain)
    assert known is not None
    np.testing.assert_array_equal(found, known.operator().reference(*arrays.values()))
    return found


@pytest.mark.parametrize("steps", [-1, 0, 70_000], ids=["int32", "beyond", "far beyond"])
@pytest.mark.parametrize("types", list(EXTREMES))
def test_scaled_sums_do_not_wrap(types: str, steps: int) -> None:
    left, left_type, right, right_type, first = EXTREMES[types]
    depth = first + steps
    assert (abs(left * right * depth) > LARGEST_INT32) == (steps >= 0)
    values = {"a": np.full((2, depth), left, left_type), "b": np.full((depth, 3), right, right_type)}
    found = computed("MatMulIntegerToFloat", values | {"a_scale": TINY, "b_scale": ONE}, "float", domain=DOMAIN)
    np.testing.assert_array_equal(found, np.full((2, 3), np.float32(left * right * depth) * TINY))


def test_requantised_sums_do_not_wrap() -> None:
    scales = {"s": TINY, "za": np.uint8(0), "b": np.full((33026, 2), 255, np.uint8), "sb": ONE, "zb": np.uint8(0)}
    values = {"a": np.full((1, 33026), 255, np.uint8), **scales, "sy": ONE, "zy": np.uint8(0)}
    assert (computed("QLinearMatMul", values, "uint8", ("b", "zb")) == 128).all()


def test_convolutions_do_not_wrap() -> None:
    scales = {"s": TINY, "zx": np.uint8(0), "w": np.full((2, 33026, 1), 255, np.uint8), "sw": ONE, "zw": np.uint8(0)}
    values = {"x": np.full((1, 33026, 3), 255, np.uint8), **scales, "sy": ONE, "zy": np.uint8(0)}
    assert (computed("QLinearConv", values, "uint8", ("zx", "w", "zw")) == 128).all()


@pytest.mark.parametrize("is_known", [False, True], ids=["given", "constant"])
def test_a_bias_does_not_wrap(is_known: bool) -> None:
    scales = {"s": TINY, "za": np.uint8(0), "b": np.ones((8, 2), np.uint8), "sb": ONE, "zb": np.uint8(0)}
    values = {"a": np.full((3, 8), 255, np.uint8), **scales, "c": np.full(2, LARGEST_INT32, np.int32)}
    found = computed("QGemm", values, "float", ("c", "b") if is_known else (), domain=DOMAIN)
    np.testing.assert_array_equal(found, np.full((3, 2), np.float32(LARGEST_INT32 + 8 * 255) * TINY))


def test_integer_results_wrap_as_onnx_lets_them_and_explain_says_so() -> None:
    for steps, may_wrap in ((33025, False), (33026, True)):
        shapes = {"a": ((1, steps), "uint8"), "b": ((steps, 2), "uint8")}
        session = InferenceSession(model("y = MatMulInteger (a, b)", shapes, output_type="int32"))
        (found,) = session.run(None, {name: np.full(shape, 255, np.uint8) for name, (shape, _) in shapes.items()})
        assert (found == 255 * 255 * steps - 2**32 * may_wrap).all()
        assert ("may wrap in 32 bits" in " ".join(session.explain().split())) == may_wrap


@pytest.mark.parametrize("is_more", [False, True])
def test_constant_weights_prove_that_int32_holds_long_sums(is_more: bool) -> None:
    """255 times the sum of a column's magnitudes is at most the largest int32, or the first number beyond."""
    weights = np.full((67_000, 1), 126, np.int8)
    weights[:, 0] *= np.resize([1, -1], 67_000).astype(np.int8)
    spare = LARGEST_INT32 // 255 - 126 * 66_800
    weights[66_800:] = 0
    weights[66_800 : 66_800 + spare // 100] = 100
    weights[-1] = spare % 100 + is_more
    builder = Builder("f")
    product = ExactMatMul().lower(builder, builder.input("a", (4, 67_000), "uint8"), builder.constant(weights))
    assert product.dtype == ("int64" if is_more else "int32")
    assert len([one for one in builder.operators if one.accumulator == "int32" and one.kind == "matmul"]) == (2 if is_more else 1)


def test_run_time_numbers_of_steps() -> None:
    """Ranges are divided where int32 ends; beyond, sums are of 64 bits."""

    def product(low: int, high: int) -> Any:
        builder, steps = Builder("f"), SymbolicExtent("k", low, high, low)
        return ExactMatMul().lower(builder, builder.input("a", (4, steps), "uint8"), builder.input("b", (steps, 5), "uint8"))

    assert product(1, 33025).dtype == "int32"
    assert product(33026, 50000).dtype == "int64"
    with pytest.raises(Undecided) as error:
        product(1, 50000)
    assert error.value.cuts == (("k", 33026),)
