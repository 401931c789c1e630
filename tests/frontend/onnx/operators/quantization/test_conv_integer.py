"""ConvInteger and QLinearConv through a session, against sums of 64 bits in NumPy and against onnxruntime."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.onnx_text import model
from tests.support.onnx_operators import operator
from tests.support.targets import onnxruntime_saturates
from tilewright.onnx import InferenceSession

TYPES = list(product(("uint8", "int8"), repeat=2))
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((1, 5, 9, 7), (6, 5, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3x3 by two": ((2, 8, 9, 8), (3, 8, 3, 3), {"pads": [1, 0, 2, 1], "strides": [2, 2]}),
    "dilated": ((1, 4, 11, 9), (7, 4, 3, 2), {"dilations": [2, 3], "pads": [0, 2, 1, 0]}),
    "pointwise": ((2, 13, 6, 5), (9, 13, 1, 1), {}),
    "pointwise by two": ((1, 16, 7, 6), (20, 16, 1, 1), {"strides": [2, 2]}),
    "groups": ((1, 6, 8, 8), (8, 3, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "depthwise": ((1, 6, 9, 20), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    "depthwise by two": ((1, 6, 9, 20), (6, 1, 5, 5), {"group": 6, "pads": [2, 2, 2, 2], "strides": [2, 2]}),
    "multiplier": ((1, 3, 9, 10), (6, 1, 3, 3), {"group": 3}),
    "1xk": ((1, 7, 4, 12), (5, 7, 1, 4), {"pads": [0, 1, 0, 2]}),
    "one dimension": ((1, 7, 19), (5, 7, 3), {"pads": [1, 1]}),
    "three dimensions": ((1, 3, 5, 4, 6), (4, 3, 2, 2, 3), {"pads": [0, 1, 1, 1, 0, 1]}),
}


def extremes(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers that are often the smallest or the largest of their type."""
    limits = np.iinfo(dtype)
    return rng.choice([limits.min, limits.min, limits.max, limits.max, *rng.integers(limits.min, limits.max, 4)], shape).astype(
        dtype
    )


def sums(x: Any, w: Any, x_zero: Any, w_zero: Any, attributes: dict[str, Any]) -> Any:
    """In 64 bits: the reference of the float operator would be exact up to 2^53 only by chance of its types."""
    column = np.reshape(w_zero.astype(np.int64), (-1, *(1,) * (w.ndim - 1)))
    centred = x.astype(np.int64) - x_zero.astype(np.int64), w.astype(np.int64) - column
    return operator("ConvInteger", 10, **attributes).sums(*centred)


def text_of(attributes: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in attributes.items())


def session_of(call: str, values: dict[str, Any], constants: set[str], output_type: str) -> InferenceSession:
    inputs = {name: (value.shape, value.dtype.name) for name, value in values.items() if name not in constants}
    known = {name: value for name, value in values.items() if name in constants}
    return InferenceSession(model(f"y = {call} ({', '.join(values)})", inputs, known, output_type=output_type))


def run(session: InferenceSession, values: dict[str, Any], constants: set[str]) -> Any:
    (found,) = session.run(None, {name: value for name, value in values.items() if name not in constants})
    return found


def check(case: str, x_type: str, w_type: str, is_known: bool, zeros: str, seed: int = 7) -> None:
    """The sums of a case, with weights and zero points as constants or as inputs."""
    (x_shape, w_shape, attributes), rng = CASES[case], np.random.default_rng(seed)
    values = {"x": extremes(rng, x_shape, x_type), "w": extremes(rng, w_shape, w_type)}
    ends = {"least": lambda dtype: np.iinfo(dtype).min, "largest": lambda dtype: np.iinfo(dtype).max, "none": lambda dtype: 0}
    values["x_zero"] = np.asarray(ends[zeros](x_type), x_type)
    per_filter = np.full(w_shape[0], ends[zeros](w_type), w_type)
    values["w_zero"] = per_filter if zeros != "none" else np.asarray(0, w_type)
    constants = {"w", "x_zero", "w_zero"} if is_known else set[str]()
    session = session_of(f"ConvInteger <{text_of(attributes)}>" if attributes else "ConvInteger", values, constants, "int32")
    found = run(session, values, constants)
    np.testing.assert_array_equal(found, sums(*values.values(), attributes))


KINDS = list(product(("largest", "least", "none"), TYPES))
"""Of zero points and of types."""


def some_kinds(number: int) -> list[tuple[str, tuple[str, str]]]:
    """Three pairs of types, with every kind of zero points for one of them; of twelve cases, three have the same."""
    return [KINDS[(number + step) % len(KINDS)] for step in (0, 5, 10)]


@pytest.mark.parametrize(
    ("case", "zeros", "types"),
    [
        pytest.param(case, *kind, marks=[] if kind in some_kinds(number) else pytest.mark.sweep)
        for number, case in enumerate(CASES)
        for kind in KINDS
    ],
)
def test_sums_of_constant_filters_are_exact(case: str, zeros: str, types: tuple[str, str]) -> None:
    check(case, *types, True, zeros)


@pytest.mark.parametrize("case", list(CASES))
def test_sums_with_zero_points_that_are_arguments_are_exact(case: str) -> None:
    check(case, "uint8", "int8", False, "largest")


@pytest.mark.parametrize(
    ("case", "x_type", "w_type"),
    [
        (case, *types)
        for number, case in enumerate(CASES)
        for types in (("uint8", "int8"), ("int8", "int8") if number % 2 else ("uint8", "uint8"))
    ],
)
def test_quantised_results_are_the_references_and_near_onnxruntimes(case: str, x_type: str, w_type: str) -> None:
    """Bit for bit the reference, which scales in float32; onnxruntime may take the next step where that rounds another way."""
    onnxruntime = pytest.importorskip("onnxruntime")
    (x_shape, w_shape, attributes), rng = CASES[case], np.random.default_rng(11)
    count = w_shape[0]
    values = {
        "x": extremes(rng, x_shape, x_type),
        "xs": np.float32(0.02),
        "xz": np.asarray(3, x_type),
        "w": extremes(rng, w_shape, w_type),
        "ws": rng.uniform(0.001, 0.02, count).astype(np.float32),
        "wz": np.zeros(count, w_type) if w_type == "int8" else np.full(count, 128, w_type),
        "ys": np.float32(0.5),
        "yz": np.asarray(100, x_type),
        "b": rng.integers(-9000, 9000, count, np.int32),
    }
    values = {name: np.asarray(value) for name, value in values.items()}
    constants = set(values) - {"x"}
    call = f"QLinearConv <{text_of(attributes)}>" if attributes else "QLinearConv"
    found = run(session_of(call, values, constants, x_type), values, constants)
    expected = operator("QLinearConv", 10, **attributes).reference(*values.values())
    np.testing.assert_array_equal(found, expected)
    if w_type == "int8" and onnxruntime_saturates():
        return
    text = model(
        f"y = {call} ({', '.join(values)})",
        {"x": (x_shape, x_type)},
        {name: values[name] for name in values if name != "x"},
        output_type=x_type,
    )
    other = onnxruntime.InferenceSession(text.SerializeToString()).run(None, {"x": values["x"]})[0]
    assert np.abs(found.astype(int) - other.astype(int)).max() <= 1


@pytest.mark.parametrize(("taps", "is_float"), [(16, True), (17, False)])
def test_filters_of_one_channel_are_summed_in_float32_up_to_its_whole_numbers(taps: int, is_float: bool) -> None:
    """256 products of 255 * 255 are below 2^24, and 289 are not: sums at both ends of the range, and one off them."""
    x, w = np.full((1, 2, 20, 21), 255, np.uint8), np.full((2, 1, taps, taps), -128, np.int8)
    x[0, 0, :3, :5], w[1, 0, 3] = 254, 127
    values = {"x": x, "xs": np.float32(1), "xz": np.uint8(0), "w": w, "ws": np.float32(1), "wz": np.int8(127)}
    values |= {"ys": np.float32(2.0**16), "yz": np.uint8(255), "b": np.array([1, -2], np.int32)}
    values = {name: np.asarray(value) for name, value in values.items()}
    session = session_of("QLinearConv <group = 2>", values, set(values) - {"x"}, "uint8")
    found = run(session, values, set(values) - {"x"})
    np.testing.assert_array_equal(found, operator("QLinearConv", 10, group=2).reference(*values.values()))
    assert ("int32" not in session.explain()) == is_float


def test_sums_beyond_the_whole_numbers_of_float32_are_exact() -> None:
    """540 products of 255 * 255 or so in every sum: the low bits are those of int32."""
    rng = np.random.default_rng(2)
    values = {"x": rng.integers(240, 256, (1, 60, 9, 40), np.uint8), "w": rng.integers(-128, -110, (20, 60, 3, 3), np.int8)}
    values |= {"x_zero": np.asarray(1, np.uint8), "w_zero": np.asarray(127, np.int8)}
    constants = {"w", "x_zero", "w_zero"}
    found = run(session_of("ConvInteger", values, constants, "int32"), values, constants)
    expected = sums(*values.values(), {})
    assert np.abs(expected).min() > 1 << 24
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=6, deadline=None)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(1, 2)),
    st.sampled_from(TYPES),
)
def test_random_shapes(sizes: tuple[int, ...], steps: tuple[int, ...], types: tuple[str, str]) -> None:
    (channels, filters, height, width), (stride, pad, dilation) = sizes, steps
    attributes = {"strides": [stride, 1], "pads": [pad, 0, 0, pad], "dilations": [1, dilation]}
    rng = np.random.default_rng(sum(sizes))
    values = {
        "x": extremes(rng, (1, channels, 8, 11), types[0]),
        "w": extremes(rng, (filters, channels, height, width), types[1]),
    }
    values |= {"x_zero": np.asarray(5, types[0]), "w_zero": np.asarray(9, types[1])}
    constants = {"w", "x_zero", "w_zero"}
    session = session_of(f"ConvInteger <{text_of(attributes)}>", values, constants, "int32")
    np.testing.assert_array_equal(run(session, values, constants), sums(*values.values(), attributes))
