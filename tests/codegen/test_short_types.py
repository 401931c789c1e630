"""Elements of 2, 4 and 8 bits: every code read, and every half and many floats stored, as NumPy's types do."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.support.onnx_operators import operator
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.tensor.cast import POWER
from tilewright.graph.exactness import SHORT_TYPES
from tilewright.onnx import InferenceSession

NUMBERS = {
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
    "float4_e2m1fn": TensorProto.FLOAT4E2M1,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
    "int2": TensorProto.INT2,
    "uint2": TensorProto.UINT2,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
}
ALL = sorted(SHORT_TYPES)


def session(op_type: str, values: dict[str, Any], target: str, **attributes: Any) -> InferenceSession:
    inputs = [helper.make_tensor_value_info(name, NUMBERS[value.dtype.name], value.shape) for name, value in values.items()]
    output = helper.make_tensor_value_info("y", NUMBERS[target], None)
    graph = helper.make_graph([helper.make_node(op_type, list(values), ["y"], **attributes)], "test", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)
    found = InferenceSession(model.SerializeToString())
    assert "run as NumPy" not in found.explain()
    return found


def cast(x: Any, target: str, **attributes: Any) -> Any:
    (found,) = session("Cast", {"x": x}, target, to=NUMBERS[target], **attributes).run(None, {"x": x})
    return found


def codes(dtype: str) -> Any:
    count = 256 if dtype.startswith("float8") else 16 if "4" in dtype else 4
    return np.arange(count, dtype=np.uint8).view(getattr(ml_dtypes, dtype))


def same_bits(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("target", ["float32", "float16"])
@pytest.mark.parametrize("dtype", ALL)
def test_every_code_is_read(dtype: str, target: str) -> None:
    found = cast(codes(dtype), target)
    expected = codes(dtype).astype(np.float32).astype(target)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        np.signbit(found), np.signbit(expected) & ~np.isnan(expected) | np.signbit(found) & np.isnan(found)
    )


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("dtype", ALL)
def test_every_half_is_stored(dtype: str, saturate: int) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    expected = operator("Cast", 25, to=NUMBERS[dtype], saturate=saturate).reference(halves)
    found = cast(halves, dtype, saturate=saturate)
    is_number = ~np.isnan(halves)
    same_bits(found[is_number], expected[is_number])
    if dtype.startswith("float8"):
        assert np.isnan(found[~is_number].astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ALL)
def test_floats_are_rounded_to_the_nearest_once(dtype: str) -> None:
    """Every middle between two neighbours, and the floats beside it."""
    numbers = np.unique(codes(dtype).astype(np.float32))
    numbers = numbers[np.isfinite(numbers)]
    middles = ((numbers[1:].astype(np.float64) + numbers[:-1]) / 2).astype(np.float32)
    below, above = (np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf))
    tiny = np.array([1e-45, -1e-45, 1e-38, 3e38, -3e38, np.inf, -np.inf], np.float32)
    x = np.concatenate([middles, below, above, tiny, numbers[-1:] * np.float32(1.03), numbers[-1:] * np.float32(1.07)])
    for saturate in (0, 1):
        expected = operator("Cast", 25, to=NUMBERS[dtype], saturate=saturate).reference(x)
        same_bits(cast(x, dtype, saturate=saturate), expected)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_powers_of_two_above_below_and_nearest(round_mode: str, saturate: int) -> None:
    """Against logarithms, which `frexp` has exactly; up to the least power all numbers are that power."""
    powers = np.exp2(np.arange(-126, 128)).astype(np.float32)
    below, above = (np.nextafter(powers, np.float32(end)) for end in (0, np.inf))
    halves = powers * np.float32(1.5)
    least = np.array([0, 1e-45, 2.0**-128, 2.0**-127], np.float32)
    x = np.concatenate([powers, below[1:], above, halves, np.nextafter(halves, np.float32(0)), least]).astype(np.float32)
    share, exponent = np.frexp(x.astype(np.float64))
    rounded = {"up": share > 0.5, "down": False, "nearest": share >= 0.75}[round_mode]
    code = np.where(x <= 2.0**-127, 0, np.minimum(exponent - 1 + rounded + 127, 254 if saturate else 255))
    found = cast(x, POWER, saturate=saturate, round_mode=round_mode)
    np.testing.assert_array_equal(found.view(np.uint8), code)
    reference = operator("Cast", 25, to=NUMBERS[POWER], saturate=saturate, round_mode=round_mode).reference(x)
    np.testing.assert_array_equal(reference.view(np.uint8), code)


def test_scales_that_are_powers_of_two() -> None:
    """Blocks of float4 with a scale each, as in microscaling formats; there and back."""
    random = np.random.default_rng(7)
    x = random.integers(0, 16, (3, 64)).astype(np.uint8).view(ml_dtypes.float4_e2m1fn)
    scale = random.integers(100, 150, (3, 2)).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
    values = {"x": x, "scale": scale}
    attributes = {"axis": 1, "block_size": 32, "output_dtype": TensorProto.FLOAT}
    (found,) = session("DequantizeLinear", values, "float32", **attributes).run(None, values)
    np.testing.assert_array_equal(found, x.astype(np.float32) * np.repeat(scale.astype(np.float32), 32, axis=1))
    values, attributes = {"x": found, "scale": scale}, {"axis": 1, "block_size": 32, "output_dtype": NUMBERS[x.dtype.name]}
    (again,) = session("QuantizeLinear", values, x.dtype.name, **attributes).run(None, values)
    np.testing.assert_array_equal(again.astype(np.float32), x.astype(np.float32))


@settings(max_examples=8, deadline=None)
@given(st.sampled_from([name for name in ALL if name != POWER]), st.integers(1, 40), st.integers(0, 12), st.integers(0, 99))
def test_quantised_and_back(dtype: str, extent: int, size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = (3, -(-extent // size)) if size else ()
    x = random.uniform(-30, 30, (3, extent)).astype(np.float32)
    scale = random.uniform(0.5, 2, shape).astype(np.float32)
    steps = codes(dtype)[random.integers(0, len(codes(dtype)), (3, extent))]
    zero = np.zeros(shape, element_type(NUMBERS[dtype]))
    if not dtype.startswith("float"):
        zero = codes(dtype)[random.integers(0, len(codes(dtype)), shape)]
    attributes = {"axis": 1, "block_size": size}
    for op_type, first, target in (("QuantizeLinear", x, dtype), ("DequantizeLinear", steps, "float32")):
        values = {"x": first, "scale": scale, "zero": np.asarray(zero)}
        (found,) = session(op_type, values, target, **attributes).run(None, values)
        expected = operator(op_type, 25, **attributes).reference(*values.values())
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))
