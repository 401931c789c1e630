"""Quantization and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.replay.onnx_text import model
from tests.support.onnx_operators import agree, lowered, operator
from tilewright.errors import ShapeError
from tilewright.onnx import InferenceSession


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_what_is_quantised_comes_back(dtype: str) -> None:
    x = np.random.default_rng(0).uniform(0, 100, (3, 8)).astype(np.float32)
    scale, zero = np.array([1.0, 0.5, 2.0], np.float32), np.array([0, 1, 2], dtype)
    steps = operator("QuantizeLinear", 21, axis=0).reference(x, scale, zero)
    back = operator("DequantizeLinear", 21, axis=0).reference(steps, scale, zero)
    in_range = x / scale[:, None] + zero[:, None] < np.iinfo(dtype).max
    assert steps.dtype == dtype
    assert (np.abs(back - x) <= scale[:, None] / 2)[in_range].all()


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([(12,), (3, 10), (2, 7, 5)]),
    st.integers(0, 2),
    st.integers(1, 12),
    st.sampled_from(["int8", "uint8", "int16", "uint16"]),
)
def test_blocks_are_compiled(shape: tuple[int, ...], axis: int, size: int, dtype: str) -> None:
    axis, random = axis % len(shape), np.random.default_rng(size)
    blocks = tuple(-(-extent // size) if d == axis else extent for d, extent in enumerate(shape))
    limits = np.iinfo(dtype)
    scale = random.uniform(0.5, 2, blocks).astype(np.float32)
    zero = random.integers(limits.min, limits.max, blocks, dtype)
    x = random.uniform(-100, 100, shape).astype(np.float32)
    steps = random.integers(limits.min, limits.max, shape, dtype)
    agree("QuantizeLinear", 21, x, scale, zero, axis=axis, block_size=size)
    agree("DequantizeLinear", 21, steps, scale, zero, axis=axis, block_size=size)
    values = {"x": steps, "scale": scale, "zero": zero}
    inputs = {name: (value.shape, value.dtype.name) for name, value in values.items()}
    attributes = f"<axis = {axis}, block_size = {size}>"
    session = InferenceSession(model(f"y = DequantizeLinear {attributes} (x, scale, zero)", inputs))
    expected = operator("DequantizeLinear", 21, axis=axis, block_size=size).reference(*values.values())
    np.testing.assert_array_equal(session.run(None, values)[0], expected)
    assert "run as NumPy" not in session.explain()


def test_blocks_of_another_number_are_told() -> None:
    x, scale = np.ones((2, 7), np.int8), np.ones((2, 3), np.float32)
    for compute in (
        lowered,
        lambda name, opset, *operands, **attributes: operator(name, opset, **attributes).reference(*operands),
    ):
        with pytest.raises(ShapeError, match=r"of shape \(2, (3|6)\) for an array of \(2, 7\)"):
            compute("DequantizeLinear", 21, x, scale, axis=1, block_size=2)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_halves_are_compiled(half: str) -> None:
    """Bit for bit: halves are numbers of float32, in which the quotient and the product are rounded."""
    random, dtype = np.random.default_rng(1), np.dtype(getattr(ml_dtypes, half, half))
    x, scale = random.uniform(-20, 20, (3, 50)).astype(dtype), random.uniform(0.05, 0.2, 3).astype(dtype)
    steps, zero = random.integers(0, 256, (3, 50), np.uint8), np.array([0, 128, 255], np.uint8)
    for op_type, first, result in (("QuantizeLinear", x, "uint8"), ("DequantizeLinear", steps, half)):
        values = {"x": first, "scale": scale, "zero": zero}
        inputs = {name: (value.shape, value.dtype.name) for name, value in values.items()}
        session = InferenceSession(model(f"y = {op_type} <axis = 0> (x, scale, zero)", inputs, output_type=result))
        expected = operator(op_type, 21, axis=0).reference(*values.values())
        (found,) = session.run(None, values)
        assert "run as NumPy" not in session.explain()
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_scales_of_ranges_are_quotients() -> None:
    """Multiplied by a rounded 1 / 255, a scale may be a last place off, and then some number a whole step."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, (64,))
    outputs = [
        helper.make_tensor_value_info(name, dtype, None)
        for name, dtype in (("y", TensorProto.UINT8), ("scale", TensorProto.FLOAT), ("zero", TensorProto.UINT8))
    ]
    model = helper.make_model(
        helper.make_graph([node], "test", [given], outputs), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )
    session, random = InferenceSession(model.SerializeToString()), np.random.default_rng(0)
    for _ in range(50):
        x = random.standard_normal(64).astype(np.float32)
        for result, expected in zip(session.run(None, {"x": x}), operator("DynamicQuantizeLinear", 21).reference(x), strict=True):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("before", "limits", "is_searched"),
    [
        ("Relu (x)", (0.0, np.inf), False),
        ("Clip (x, zero, six)", (0.0, 6.0), False),
        ("Clip (x, one, six)", (1.0, 6.0), False),
        ("Clip (x, below, six)", (-1.0, 6.0), True),
        ("Min (x, six)", (-np.inf, 6.0), True),
    ],
)
def test_ranges_of_what_is_not_negative_begin_at_zero(before: str, limits: tuple[float, float], is_searched: bool) -> None:
    lines = (f"r = {before}", "y, scale, z = DynamicQuantizeLinear (r)", "a = Cast <to = 1> (y)", "b = Cast <to = 1> (z)")
    numbers = {name: np.array(value, np.float32) for name, value in (("zero", 0), ("six", 6), ("one", 1), ("below", -1))}
    session = InferenceSession(model("\n".join(lines), {"x": (3, 40)}, numbers, ("a", "scale", "b")))
    assert ("= min(" in session.explain(full=True)) is is_searched
    random, function = np.random.default_rng(1), operator("DynamicQuantizeLinear", 21)
    for x in (random.uniform(-9, 9, (3, 40)), np.zeros((3, 40)), np.full((3, 40), -2.0), np.full((3, 40), 1e-44)):
        given = x.astype(np.float32)
        expected = function.reference(np.clip(given, *np.float32(limits)))
        for result, one in zip(session.run(None, {"x": given}), expected, strict=True):
            np.testing.assert_array_equal(result, one)
