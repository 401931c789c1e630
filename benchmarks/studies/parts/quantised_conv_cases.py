"""Convolutions of bytes as cases: operands, the exact result, and their ONNX models, as one QLinearConv and as QDQ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tilewright_bench.cases.case import SEED
from tilewright_bench.cases.conv import convolved
from tilewright_bench.cases.conv_shapes import ConvShape

OPSET, IR_VERSION = 17, 8
IMAGE_ZERO, RESULT_ZERO = 121, 100
STEPS = 40
"""Of the result, in a standard deviation of the sums: some are clipped at either end."""
OPERATOR, QDQ = "operator", "qdq"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class QuantisedConv:
    """A convolution of a uint8 image by int8 filters, each with its own scale, and an int32 bias, into uint8."""

    shape: ConvShape
    weight_bits: int = 8
    """Weights have the whole range of so many bits. Of 7 are those that tools make where sums of two products saturate."""

    @property
    def moved_bytes(self) -> int:
        """Image, filters and result, a byte an element, each once."""
        return prod(self.shape.image_shape) + prod(self.shape.filter_shape) + prod(self.shape.result_shape)

    @cached_property
    def values(self) -> dict[str, Array]:
        """The inputs of QLinearConv in their order, the same in every run."""
        generator, half = np.random.default_rng(SEED), 2 ** (self.weight_bits - 1)
        scales = generator.uniform(0.5, 1.5, self.shape.filters).astype(np.float32) / np.float32(half)
        sums = self._deviation_of_sums
        return {
            "x": generator.integers(0, 256, self.shape.image_shape, np.uint8),
            "xs": np.array(1 / 64, np.float32),
            "xz": np.array(IMAGE_ZERO, np.uint8),
            "w": generator.integers(-half, half, self.shape.filter_shape, np.int8),
            "ws": scales,
            "wz": np.zeros(self.shape.filters, np.int8),
            "ys": np.array(sums / half / 64 / STEPS, np.float32),
            "yz": np.array(RESULT_ZERO, np.uint8),
            "b": generator.integers(-int(sums), int(sums), self.shape.filters, np.int32, endpoint=True),
        }

    @property
    def _deviation_of_sums(self) -> float:
        """Of products of uniform bytes: 256 / sqrt(12) and 2**bits / sqrt(12)."""
        steps = prod(self.shape.filter_shape[1:])
        return float(np.sqrt(steps) * 256 * 2**self.weight_bits / 12)

    @cached_property
    def reference(self) -> Array:
        """The steps of the exact result: sums are whole numbers below 2**53, scaled in float64 and rounded once, half to even."""
        value = self.values
        centred = value["x"].astype(np.float32) - IMAGE_ZERO
        of_filters = (-1, *(1,) * len(self.shape.image))
        sums = convolved(self.shape, centred, value["w"].astype(np.float32)) + value["b"].reshape(of_filters)
        scales = value["ws"].astype(np.float64).reshape(of_filters) * float(value["xs"]) / float(value["ys"])
        steps: Array = np.clip(np.rint(sums * scales) + RESULT_ZERO, 0, 255)
        return steps.astype(np.uint8)

    def write(self, form: str, directory: Path) -> Path:
        """The model's file, from "x" to "y"."""
        nodes, constants = self._operator() if form == OPERATOR else self._qdq()
        inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, self.shape.image_shape)]
        outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, self.shape.result_shape)]
        initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "case", inputs, outputs, initializers)
        opsets = [helper.make_opsetid("", OPSET)]
        path = directory / f"{self.shape.name}-{self.weight_bits}-bits-{form}.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())
        return path

    @property
    def _attributes(self) -> dict[str, Any]:
        shape = self.shape
        pads = (*shape.padding, *shape.padding)
        return {"strides": shape.stride, "dilations": shape.dilation, "pads": pads, "group": shape.groups}

    def _operator(self) -> tuple[list[NodeProto], dict[str, Array]]:
        constants = {name: array for name, array in self.values.items() if name != "x"}
        return [helper.make_node("QLinearConv", [*self.values], ["y"], **self._attributes)], constants

    def _qdq(self) -> tuple[list[NodeProto], dict[str, Array]]:
        """The bias's scale is the product of the others, as tools write it."""
        more = {"bs": self.values["xs"] * self.values["ws"], "bz": np.zeros(self.shape.filters, np.int32)}
        constants = {name: array for name, array in self.values.items() if name != "x"} | more
        nodes = [
            helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["real_x"]),
            helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["real_w"], axis=0),
            helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["real_b"], axis=0),
            helper.make_node("Conv", ["real_x", "real_w", "real_b"], ["real_y"], **self._attributes),
            helper.make_node("QuantizeLinear", ["real_y", "ys", "yz"], ["y"]),
        ]
        return nodes, constants
