"""MatMulInteger and QLinearMatMul run on the micro kernel of bytes, with any zero points, and are exact at the extremes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_operators import operator
from tilewright.onnx import InferenceSession

KERNEL = "matmul_portable_u8s8"
"""Without a target, tests plan for x86-64-v2."""
TYPES = ("uint8", "int8")
SHAPES = [((13, 40), (40, 33)), ((1, 7), (7, 1)), ((2, 5, 64), (64, 70)), ((2, 5, 9), (2, 9, 17)), ((3, 130), (130, 8))]
ZEROS = ("none", "both", "rows and columns")


def extremes(random: np.random.Generator, shape: Sequence[int], dtype: str) -> Any:
    """Numbers that are mostly the least or the largest of their type."""
    limits = np.iinfo(dtype)
    return random.choice([limits.min, limits.max, limits.min, limits.max, 3], shape).astype(dtype)


def session(op_type: str, values: dict[str, Any], result: str, constants: Sequence[str] = ()) -> InferenceSession:
    """One node, some of whose inputs are constants."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in values.items()
        if name not in constants
    ]
    weights = [numpy_helper.from_array(values[name], name) for name in constants]
    output = helper.make_tensor_value_info("y", getattr(TensorProto, result.upper()), None)
    graph = helper.make_graph([helper.make_node(op_type, list(values), ["y"])], "test", inputs, [output], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return InferenceSession(model.SerializeToString())


def operands(shapes: Any, types: Sequence[str], zeros: str) -> dict[str, Any]:
    random = np.random.default_rng(5)
    values = {name: extremes(random, shape, dtype) for name, shape, dtype in zip("ab", shapes, types, strict=True)}
    if zeros == "both":
        return values | {name: extremes(random, (), dtype) for name, dtype in zip(("za", "zb"), types, strict=True)}
    if zeros == "rows and columns":
        sizes = (*shapes[0][:-1], 1) if len(shapes[0]) > 2 else shapes[0][:1], shapes[1][-1:]
        return values | {
            name: extremes(random, size, dtype) for name, size, dtype in zip(("za", "zb"), sizes, types, strict=True)
        }
    return values


@pytest.mark.parametrize(
    ("is_constant", "types", "zeros"),
    [
        pytest.param(is_constant, types, zeros, id="-".join(("constant" if is_constant else "given", *types, zeros)))
        for is_constant in (False, True)
        for number, types in enumerate(product(TYPES, TYPES))
        for other, zeros in enumerate(ZEROS)
        if zeros == "rows and columns" or (number + other + is_constant) % 2
    ],
)
def test_products_are_exact_at_the_extremes(is_constant: bool, types: tuple[str, str], zeros: str) -> None:
    """Of the other zero points every pair of types is met, once as given and once as constant operands."""
    constants = ("b", "zb") if is_constant else ()
    for shapes in SHAPES[:3] if zeros == "none" else SHAPES[::2]:
        values = operands(shapes, types, zeros)
        fixed = [name for name in constants if name in values]
        run = session("MatMulInteger", values, "int32", fixed)
        (got,) = run.run(None, {name: value for name, value in values.items() if name not in fixed})
        np.testing.assert_array_equal(got, operator("MatMulInteger", 10).reference(*values.values()), str(shapes))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("types", list(product(TYPES, TYPES)), ids="-".join)
def test_sums_in_rows_of_one_element_are_stored_as_integers(types: tuple[str, str]) -> None:
    """An array of a caller may have any distance between rows, even of one element: tiles cannot be stored side by side."""
    values = operands(((40, 19), (19,)), types, "none")
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in values.items()
    ]
    nodes = [helper.make_node("MatMulInteger", ["a", "b"], ["t"]), helper.make_node("Unsqueeze", ["t", "axes"], ["y"])]
    output = helper.make_tensor_value_info("y", TensorProto.INT32, None)
    graph = helper.make_graph(nodes, "test", inputs, [output], [numpy_helper.from_array(np.array([-1]), "axes")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    wanted = operator("MatMulInteger", 10).reference(*values.values())[:, None]
    for target in ("x86-64-v2", "x86-64-v3"):
        (got,) = InferenceSession(model.SerializeToString(), target=target).run(None, values)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("zeros", ZEROS)
def test_the_micro_kernel_computes_them(zeros: str) -> None:
    text = session("MatMulInteger", operands(SHAPES[0], TYPES, zeros), "int32").explain()
    assert KERNEL in text


def test_sums_of_32_bits_wrap() -> None:
    a, b = np.full((2, 70_001), 255, np.uint8), np.full((70_001, 3), -128, np.int8)
    (got,) = session("MatMulInteger", {"a": a, "b": b}, "int32").run(None, {"a": a, "b": b})
    assert (got == np.int64(-255 * 128 * 70_001).astype(np.int32)).all()


@pytest.mark.parametrize("types", list(product(TYPES, TYPES)), ids="-".join)
def test_scaled_products_run_on_it_too(types: tuple[str, str]) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 100, shape).astype(dtype) for shape, dtype in zip(SHAPES[0], types, strict=True))
    scales = [np.array(scale, np.float32) for scale in (0.02, 0.01, 0.5)]
    values = {"a": a, "sa": scales[0], "za": np.array(7, types[0]), "b": b, "sb": scales[1], "zb": np.array(5, types[1])}
    values |= {"sy": scales[2], "zy": np.array(3, "uint8")}
    run = session("QLinearMatMul", values, "uint8")
    assert (KERNEL.replace("u8s8", "s8u8") if types == ("int8", "uint8") else KERNEL) in run.explain()
    (got,) = run.run(None, values)
    np.testing.assert_array_equal(got, operator("QLinearMatMul", 21).reference(*values.values()))


def _in_float32(values: dict[str, Any]) -> Any:
    """The sums, exact, by one factor of float32: as onnxruntime, where the reference of the operator multiplies in 64 bits."""
    sums = operator("MatMulInteger", 10).reference(*(values[name] for name in ("a", "b", "za", "zb")))
    sa, sy, zero = (values[name][:, None] if values[name].ndim else values[name] for name in ("sa", "sy", "zy"))
    steps = np.rint(sums.astype(np.float32) * (sa * values["sb"] / sy))
    return np.clip(steps + zero, 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("scales", "a_shape"),
    [("b", (13, 40)), ("b", (2, 13, 40)), ("a", (13, 40)), ("y", (13, 40)), ("aby", (13, 40)), ("b as rows", (2, 13, 40))],
)
def test_scales_of_rows_and_columns_multiply_the_sums_of_a_micro_kernel(scales: str, a_shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(4)
    a, b = extremes(random, a_shape, "uint8"), extremes(random, (40, 33), "int8")
    of_rows, of_columns = (random.uniform(0.01, 0.02, extent).astype(np.float32) for extent in (13, 33))
    number, zero = np.array(0.25, np.float32), np.array(3, "uint8")
    b_scale = of_columns[None] if scales == "b as rows" else of_columns if "b" in scales else number
    values = {"a": a, "sa": of_rows if "a" in scales.split()[0] else number, "za": np.array(7, "uint8"), "b": b, "sb": b_scale}
    values |= {"zb": np.array(5, "int8"), "sy": 400 * of_rows if "y" in scales else 20 * number}
    values |= {"zy": np.arange(13, dtype="uint8") if "y" in scales else zero}
    run = session("QLinearMatMul", values, "uint8")
    assert KERNEL in run.explain()
    (got,) = run.run(None, values)
    wanted = _in_float32(values)
    np.testing.assert_array_equal(got, wanted)
    assert len(np.unique(wanted)) > 20


def test_scales_of_more_rows_than_the_product_has_are_left_to_the_reference() -> None:
    random = np.random.default_rng(4)
    a, b, number = extremes(random, (1, 8), "uint8"), extremes(random, (8, 5), "int8"), np.array(0.5, np.float32)
    values = {"a": a, "sa": np.full(3, 0.5, np.float32), "za": np.array(7, "uint8"), "b": b, "sb": number}
    values |= {"zb": np.array(5, "int8"), "sy": 100 * number, "zy": np.array(3, "uint8")}
    assert "NumPy" in session("QLinearMatMul", values, "uint8").explain()
