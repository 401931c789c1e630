"""Models with QuantizeLinear and DequantizeLinear around their products: computed on bytes, and what onnxruntime gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tilewright.machine import Machine
from tilewright.onnx import InferenceSession
from tilewright.runtime import calibration

TARGETS = (
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512bw", "avx512dq", "avx512vl")),
    pytest.param("sapphirerapids", marks=pytest.mark.needs("amx_int8", "avx512_vnni", "avx512_fp16")),
)

KERNELS_OF_BYTES = re.compile(r"matmul_\w+?_(u8s8|s8u8|s8s8|s16s16)")


@pytest.fixture(params=TARGETS, autouse=True)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What sessions plan for: every width of vectors, and tiles."""
    name = str(request.param)
    monkeypatch.setattr(calibration, "ensure", lambda **_: Machine.named(name))
    return name


@dataclass
class QuantisedModel:
    """Nodes and weights, put together step by step."""

    random: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)

    def add(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A node; the name of its result."""
        self.nodes.append(helper.make_node(op_type, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def weight(self, value: Any) -> str:
        """A constant; its name."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def through_bytes(self, x: str, scale: float, zero: int, dtype: str = "uint8") -> str:
        """Quantised, and dequantised."""
        parameters = self.weight(np.float32(scale)), self.weight(np.array(zero, dtype))
        return self.add("DequantizeLinear", self.add("QuantizeLinear", x, *parameters), *parameters)

    def matrix(self, rows: int, columns: int, *, by_columns: bool) -> str:
        """Dequantised signed bytes."""
        numbers = self.random.integers(-127, 128, (rows, columns), dtype=np.int8)
        scale = self.random.uniform(0.005, 0.02, columns if by_columns else ()).astype(np.float32)
        return self.add("DequantizeLinear", *map(self.weight, (numbers, scale, np.zeros(scale.shape, np.int8))), axis=1)

    def model(self, shape: tuple[int, ...], result: str) -> ModelProto:
        """Of one input "x" of that shape."""
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "quantised", [given], [output], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def literally(model: ModelProto, x: Any) -> Any:
    """What onnxruntime computes node by node."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0]


@pytest.mark.parametrize("by_columns", [True, False])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_layers_on_bytes(dtype: str, by_columns: bool) -> None:
    random = np.random.default_rng(0)
    model, zero = QuantisedModel(random), {"uint8": 120, "int8": -7}[dtype]
    x = "x"
    for rows, columns in ((37, 50), (50, 21)):
        product = model.add(
            "MatMul", model.through_bytes(x, 0.03, zero, dtype), model.matrix(rows, columns, by_columns=by_columns)
        )
        x = model.add("Relu", model.add("Add", product, model.weight(random.standard_normal(columns).astype(np.float32))))
    step = 0.05
    proto = model.model((9, 37), model.through_bytes(x, step, zero, dtype))
    values = random.standard_normal((9, 37)).astype(np.float32)
    session = InferenceSession(proto.SerializeToString())
    assert KERNELS_OF_BYTES.search(str(session.explain()))
    steps = (session.run(None, {"x": values})[0] - literally(proto, values)) / step
    assert np.abs(steps).max() < 1.5
    assert (np.abs(steps) > 0.5).mean() < 0.02


def test_products_of_two_activations() -> None:
    random = np.random.default_rng(1)
    model = QuantisedModel(random)
    queries = model.through_bytes("x", 0.03, 128)
    keys = model.add("Transpose", model.through_bytes(model.add("Relu", "x"), 0.02, 0), perm=[0, 2, 1])
    proto = model.model((2, 64, 96), model.add("MatMul", queries, keys))
    values = random.standard_normal((2, 64, 96)).astype(np.float32)
    session = InferenceSession(proto.SerializeToString())
    assert KERNELS_OF_BYTES.search(str(session.explain()))
    np.testing.assert_allclose(session.run(None, {"x": values})[0], literally(proto, values), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("zero", [0, 131])
@pytest.mark.parametrize(("kernel", "stride", "groups"), [(3, 1, 1), (3, 2, 1), (1, 1, 1), (5, 1, 2), (3, 1, 12)])
def test_convolutions_on_bytes(kernel: int, stride: int, groups: int, zero: int) -> None:
    """Padding stands for 0, which is the zero point. Depthwise ones stay in float32."""
    random = np.random.default_rng(3)
    model, channels, step = QuantisedModel(random), 12, 0.05
    numbers = random.integers(-127, 128, (24, channels // groups, kernel, kernel), dtype=np.int8)
    scale = random.uniform(0.005, 0.02, 24).astype(np.float32)
    filters = model.add("DequantizeLinear", *map(model.weight, (numbers, scale, np.zeros(24, np.int8))), axis=0)
    counts = model.weight(random.integers(-900, 900, 24, dtype=np.int32)), model.weight(scale * np.float32(0.03))
    bias = model.add("DequantizeLinear", *counts, model.weight(np.zeros(24, np.int32)), axis=0)
    image = model.through_bytes("x", 0.03, zero)
    convolved = model.add("Conv", image, filters, bias, pads=[kernel // 2] * 4, strides=[stride] * 2, group=groups)
    proto = model.model((2, channels, 11, 13), model.through_bytes(model.add("Relu", convolved), step, 0))
    values = random.standard_normal((2, channels, 11, 13)).astype(np.float32)
    session = InferenceSession(proto.SerializeToString())
    steps = (session.run(None, {"x": values})[0] - literally(proto, values)) / step
    assert np.abs(steps).max() < 1.5
    assert (np.abs(steps) > 0.5).mean() < 0.02


def test_ties_go_to_even_numbers_of_steps() -> None:
    model, scale = QuantisedModel(np.random.default_rng(2)), np.float32(0.05)
    proto = model.model((255,), model.through_bytes("x", float(scale), 0))
    values = (np.arange(255, dtype=np.float32) + np.float32(0.5)) * scale
    expected = literally(proto, values)
    np.testing.assert_array_equal(InferenceSession(proto.SerializeToString()).run(None, {"x": values})[0], expected)
