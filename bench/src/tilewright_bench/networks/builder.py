"""A builder of ONNX models with random weights: a method for each layer that networks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

OPSET, IR_VERSION = 17, 9
Array = np.ndarray[Any, np.dtype[Any]]
Extents = Sequence[int]


@dataclass(slots=True)
class Builder:
    """Nodes and constants so far. A layer takes the names of values and returns the name of its result.

    Weights are normal, by the seed, with deviations by which values keep their scale. Batch norms are taken to be folded into the
    convolutions before them, as exporters write them: a convolution has a bias instead.
    """

    seed: int = 0
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    """Of values that layers made or read."""
    generator: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(self.seed)

    def input(self, name: str, *shape: int) -> str:
        """An operand of float32; the second extent is that of channels."""
        self.inputs[name], self.channels[name] = shape, shape[1]
        return name

    def node(self, operator: str, *operands: str, channels: int = 0, **attributes: Any) -> str:
        """A node of one result, whose channels are those of the first operand unless they are given."""
        (result,) = self.nodes_of(operator, 1, *operands, channels=channels, **attributes)
        return result

    def nodes_of(self, operator: str, results: int, *operands: str, channels: int = 0, **attributes: Any) -> list[str]:
        """A node of several results, each of so many channels."""
        from onnx import helper

        names = [f"{operator.lower()}_{len(self.nodes)}_{number}" for number in range(results)]
        self.nodes.append(helper.make_node(operator, operands, names, **attributes))
        self.channels.update(dict.fromkeys(names, channels or self.channels.get(operands[0], 0)))
        return names

    def constant(self, array: Any) -> str:
        """An initializer: float32, or int64 of integers."""
        given = np.asarray(array)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = given.astype(np.int64 if given.dtype.kind == "i" else np.float32)
        return name

    def weights(self, *shape: int, scale: float = 1.0) -> str:
        """Normal numbers of that deviation."""
        return self.constant(self.generator.standard_normal(shape, np.float32) * np.float32(scale))

    def conv(
        self,
        x: str,
        filters: int,
        kernel: int | Extents,
        stride: int | Extents = 1,
        *,
        padding: int | Extents | None = None,
        dilation: int | Extents = 1,
        groups: int = 1,
        gain: float = 1.4,
        rank: int = 2,
    ) -> str:
        """A convolution with a bias; padding is half a window unless it is given."""
        taps, steps, gaps = _each(kernel, rank), _each(stride, rank), _each(dilation, rank)
        half = [gap * (size - 1) // 2 for gap, size in zip(gaps, taps, strict=True)]
        borders = half if padding is None else _each(padding, rank)
        of_group = self.channels[x] // groups
        filter_ = self.weights(filters, of_group, *taps, scale=gain / (of_group * prod(taps)) ** 0.5)
        how = {"strides": steps, "dilations": gaps, "pads": [*borders, *borders], "group": groups}
        return self.node("Conv", x, filter_, self.weights(filters, scale=0.1), channels=filters, kernel_shape=taps, **how)

    def transposed(self, x: str, filters: int, kernel: int, stride: int, *, padding: int = 0, rank: int = 2) -> str:
        """A transposed convolution with a bias."""
        taps, steps, borders = [kernel] * rank, [stride] * rank, [padding] * rank
        seen = self.channels[x] * max(1, prod(taps) // prod(steps))
        filter_ = self.weights(self.channels[x], filters, *taps, scale=1.4 / seen**0.5)
        how = {"strides": steps, "pads": [*borders, *borders], "kernel_shape": taps}
        return self.node("ConvTranspose", x, filter_, self.weights(filters, scale=0.1), channels=filters, **how)

    def relu(self, x: str) -> str:
        """max(x, 0)."""
        return self.node("Relu", x)

    def silu(self, x: str) -> str:
        """x times its sigmoid, in two nodes."""
        return self.node("Mul", x, self.node("Sigmoid", x))

    def gelu(self, x: str) -> str:
        """x (1 + erf(x / sqrt 2)) / 2, in five nodes."""
        half = self.node("Mul", x, self.constant(0.5))
        erf = self.node("Erf", self.node("Mul", x, self.constant(0.5**0.5)))
        return self.node("Mul", half, self.node("Add", erf, self.constant(1.0)))

    def add(self, x: str, y: str) -> str:
        """x + y."""
        return self.node("Add", x, y)

    def concat(self, *parts: str) -> str:
        """The channels of all behind each other."""
        return self.node("Concat", *parts, channels=sum(self.channels[part] for part in parts), axis=1)

    def enlarged(self, x: str, factor: int = 2) -> str:
        """Every point of an image `factor` times in each dimension."""
        scales = self.constant(np.array([1, 1, factor, factor], np.float32))
        how: dict[str, Any] = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.node("Resize", x, "", scales, **how)

    def linear(self, x: str, outputs: int, *, has_bias: bool = True, gain: float = 1.0) -> str:
        """A product of the last dimension, of `channels` elements, with weights."""
        width = self.channels[x]
        product = self.node("MatMul", x, self.weights(width, outputs, scale=gain / width**0.5), channels=outputs)
        return self.add(product, self.weights(outputs, scale=0.1)) if has_bias else product

    def layer_norm(self, x: str, epsilon: float = 1e-6) -> str:
        """Over the last dimension."""
        width = self.channels[x]
        return self.node("LayerNormalization", x, self._scale(width), self._shift(width), axis=-1, epsilon=epsilon)

    def group_norm(self, x: str, groups: int = 32, epsilon: float = 1e-5) -> str:
        """Of an image, as exporters write it below opset 18: an instance norm of groups, then scales and shifts of channels."""
        width = self.channels[x]
        rows = self.reshaped(x, 0, groups, -1)
        ones, zeros = self.constant(np.ones(groups, np.float32)), self.constant(np.zeros(groups, np.float32))
        normal = self.node("InstanceNormalization", rows, ones, zeros, epsilon=epsilon)
        back = self.node("Reshape", normal, self.node("Shape", x), channels=width)
        scaled = self.node("Mul", back, self._scale(width, 1, 1))
        return self.node("Add", scaled, self._shift(width, 1, 1))

    def reshaped(self, x: str, *shape: int, channels: int = 0) -> str:
        """In ONNX's way: 0 keeps an extent, -1 is the rest."""
        return self.node("Reshape", x, self.constant(np.array(shape, np.int64)), channels=channels)

    def turned(self, x: str, *order: int) -> str:
        """Transposed."""
        return self.node("Transpose", x, perm=order)

    def attention(self, x: str, context: str, heads: int, *, has_bias: bool = False) -> str:
        """Multi-head attention of tokens [batch, tokens, width] to those of a context."""
        width = self.channels[x]
        queries, keys, values = (self.linear(one, width, has_bias=has_bias) for one in (x, context, context))
        by_head = [self.reshaped(one, 0, 0, heads, width // heads) for one in (queries, keys, values)]
        q, k, v = (
            self.turned(one, *order) for one, order in zip(by_head, ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)), strict=True)
        )
        scores = self.node("Mul", self.node("MatMul", q, k), self.constant((width // heads) ** -0.5))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        return self.linear(self.reshaped(self.turned(mixed, 0, 2, 1, 3), 0, 0, width, channels=width), width)

    def classified(self, x: str, classes: int) -> str:
        """Means of channels, and a linear layer."""
        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.linear(flat, classes)

    def model(self, *outputs: str) -> bytes:
        """The file."""
        from onnx import TensorProto, helper, numpy_helper, shape_inference

        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in self.inputs.items()]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "network", inputs, results, constants)
        opsets = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return bytes(shape_inference.infer_shapes(made, data_prop=True).SerializeToString())

    def _scale(self, *shape: int) -> str:
        return self.constant(1 + self.generator.standard_normal(shape, np.float32) * np.float32(0.1))

    def _shift(self, *shape: int) -> str:
        return self.weights(*shape, scale=0.1)


def _each(extents: int | Extents, rank: int) -> list[int]:
    return [extents] * rank if isinstance(extents, int) else list(extents)
