"""Special values of ONNX's operators of single elements and of rows: compiled, against their reference implementations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import tilewright.onnx
from tests.support.onnx_operators import operator
from tests.support.special_values import BOUNDS, INF, NAN, PAIRED, VALUES, differs, is_wrong, special_rows

OPSET = 20
NAMES = """
Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log
Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu
"""
NAMES_OF_TWO = "Add Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mul PRelu Pow Sub Sum"
OF_ONE: tuple[tuple[str, Mapping[str, Any]], ...] = (
    *((name, {}) for name in NAMES.split()),
    ("Celu", {"alpha": 2.0}),
    ("Elu", {"alpha": 0.5}),
    ("Gelu", {"approximate": "tanh"}),
    ("IsInf", {"detect_negative": 0}),
    ("IsInf", {"detect_positive": 0}),
    ("LeakyRelu", {"alpha": 0.0}),
    ("Shrink", {"bias": 0.5}),
)
OF_TWO = tuple((name, {}) for name in NAMES_OF_TWO.split())
OF_THREE: tuple[tuple[str, Mapping[str, Any]], ...] = (("Clip", {}), ("Max", {}), ("Min", {}))
OF_ROWS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    *((name, {"axis": 1}) for name in ("ArgMax", "ArgMin", "Hardmax", "LogSoftmax", "Softmax")),
    *(
        (f"Reduce{name}", {"keepdims": 1})
        for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Sum", "SumSquare")
    ),
)
SOURCES = ("x", "y", "z")


def session(nodes: tuple[tuple[str, Mapping[str, Any]], ...], shapes: tuple[tuple[int, ...], ...], axes: bool = False) -> Any:
    """One model with a node for every operator, all of the same inputs."""
    names = [*SOURCES[: len(shapes)], *(["axes"] if axes else [])]
    made = []
    for number, (name, attributes) in enumerate(nodes):
        inputs = names if name.startswith("Reduce") or not axes else names[:1]
        made.append(helper.make_node(name, inputs, [f"out_{number}"], **attributes))
    inputs = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n, shape in zip(names, shapes, strict=False)]
    outputs = [onnx.ValueInfoProto(name=node.output[0]) for node in made]
    along = [onnx.numpy_helper.from_array(np.array([1]), "axes")] if axes else []
    graph = helper.make_graph(made, "graph", inputs, outputs, along)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    return tilewright.onnx.InferenceSession(onnx.shape_inference.infer_shapes(model).SerializeToString())


def reference(name: str, attributes: Mapping[str, Any], *operands: Any, dtype: type) -> Any:
    """What an operator's reference implementation gives in this precision, rounded to float32."""
    values = (one.astype(dtype) if one.dtype == np.float32 else one for one in operands)
    with np.errstate(all="ignore"):
        result = np.asarray(operator(name, OPSET, **attributes).reference(*values))
        return result.astype(np.float32) if result.dtype == dtype else result


def check(nodes: tuple[tuple[str, Mapping[str, Any]], ...], *operands: Any, axes: bool = False, tolerance: float = 2e-6) -> None:
    compiled = session(nodes, tuple(one.shape for one in operands), axes)
    assert not compiled.numpy_operators
    results = compiled.run(None, dict(zip(SOURCES, operands, strict=False)))
    wrong = []
    for (name, attributes), found in zip(nodes, results, strict=True):
        along = [np.array([1])] if axes and name.startswith("Reduce") else []
        exact, expected = (reference(name, attributes, *operands, *along, dtype=one) for one in (np.float64, np.float32))
        if found.dtype != np.float32:
            points = np.argwhere(found != exact)
        else:
            points = np.argwhere(
                np.logical_and.reduce([is_wrong(name, operands, found, e, tolerance) for e in (exact, expected)])
            )
        wrong += [f"{name} {dict(attributes)} at {p}: {found[tuple(p)]}, not {expected[tuple(p)]}" for p in points[:3]]
    assert not wrong


@pytest.mark.needs("avx2", "fma")
def test_operators_of_one_operand() -> None:
    check(OF_ONE, VALUES)


@pytest.mark.needs("avx2", "fma")
def test_operators_of_two_operands() -> None:
    check(OF_TWO, *(one.ravel() for one in np.meshgrid(PAIRED, PAIRED)))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("low", [NAN, -INF, -1.0, 2.5])
@pytest.mark.parametrize("high", [NAN, INF, 1.0, -2.0])
def test_bounds_that_are_computed(low: float, high: float) -> None:
    given = {"x": VALUES, "y": np.float32(low), "z": np.float32(high)}
    found = session((("Clip", {}),), (VALUES.shape, (), ())).run(None, given)[0]
    assert not differs(found, np.clip(VALUES, low, high)).any()


@pytest.mark.needs("avx2", "fma")
def test_operators_of_three_operands() -> None:
    check(OF_THREE[1:], *(one.ravel() for one in np.meshgrid(BOUNDS, BOUNDS, BOUNDS)))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("length", [1, 17, 33])
def test_operators_of_rows(length: int) -> None:
    check(OF_ROWS, special_rows(length), axes=True, tolerance=1e-5)
