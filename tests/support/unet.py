"""A U-Net of dynamic images: group norms in both spellings, attention over the pixels of its smallest images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

GROUPS = 4
"""Of channels, in every norm."""


class UNet:
    """The nodes and weights of a U-Net while it is built; every method returns the name of its result."""

    def __init__(self, channels: Sequence[int]) -> None:
        """`channels` by level, those of the images first."""
        self.channels = tuple(channels)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._generator = np.random.default_rng(0)

    def model(self) -> bytes:
        """From images [batch, channels[0], height, width] to images of the same shape; each level halves height and width."""
        image = ["batch", self.channels[0], "height", "width"]
        self.op("Identity", self._upper("x", 0), output="y")
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", image), ("y", None))]
        graph = helper.make_graph(self.nodes, "unet", ends[:1], ends[1:], self.weights)
        opsets = [helper.make_opsetid("", 21)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())

    def _upper(self, x: str, level: int) -> str:
        """Down, through the levels below, up again, beside what was there."""
        width = self.channels[level]
        if level == len(self.channels) - 1:
            return self._attention(x, width)
        below = self._convolved(x, width, self.channels[level + 1], stride=2)
        below = self._silu(self._exported_norm(below, self.channels[level + 1]))
        grown = self.op("Resize", self._upper(below, level + 1), "", self.constant(np.array([1, 1, 2, 2], np.float32)))
        joined = self.op("Concat", x, grown, axis=1)
        y = self._convolved(joined, width + self.channels[level + 1], width, stride=1)
        return self._silu(self.op("GroupNormalization", y, self.weight(width), self.weight(width), num_groups=GROUPS))

    def _convolved(self, x: str, inputs: int, outputs: int, *, stride: int) -> str:
        return self.op("Conv", x, self.weight(outputs, inputs, 3, 3), strides=[stride] * 2, pads=[1] * 4)

    def _silu(self, x: str) -> str:
        return self.op("Mul", x, self.op("Sigmoid", x))

    def _exported_norm(self, x: str, channels: int) -> str:
        """The group norm of exporters before operator set 18."""
        rows = self.op("Reshape", x, self.constant(np.array([0, GROUPS, -1])))
        ones, zeros = (self.constant(np.full(GROUPS, value, np.float32)) for value in (1, 0))
        unit = self.op("Reshape", self.op("InstanceNormalization", rows, ones, zeros), self.op("Shape", x))
        return self.op("Add", self.op("Mul", unit, self.weight(channels, 1, 1)), self.weight(channels, 1, 1))

    def _attention(self, x: str, channels: int) -> str:
        """One head over all pixels, added to its input."""
        rows = self.op("Reshape", self._exported_norm(x, channels), self.constant(np.array([0, channels, -1])))
        pixels = self.op("Transpose", rows, perm=[0, 2, 1])
        query, key, value = (self.op("MatMul", pixels, self.weight(channels, channels)) for _ in range(3))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 2, 1]))
        weighted = self.op("MatMul", self.op("Softmax", scores), value)
        image = self.op("Reshape", self.op("Transpose", weighted, perm=[0, 2, 1]), self.op("Shape", x))
        return self.op("Add", x, image)

    def op(self, kind: str, *operands: str, output: str = "", **attributes: Any) -> str:
        """A node with one result."""
        result = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [result], **attributes))
        return result

    def weight(self, *shape: int) -> str:
        """Random weights whose sums of products stay of order 1."""
        return self.constant((self._generator.standard_normal(shape) / max(1, np.prod(shape[1:])) ** 0.5).astype(np.float32))

    def constant(self, array: Any) -> str:
        """An initializer."""
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.weights)}"))
        return str(self.weights[-1].name)
