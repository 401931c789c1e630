"""A decoder like Llama with weights of 4 or 8 bits: ONNX text with MatMulNBits of onnxruntime, as its quantiser leaves it.

H. Touvron et al., arXiv:2302.13971 (2023): RMS norms before attention and before a gated feed-forward network, rotary positions.
One call computes one token, or some, after others whose keys and values are inputs. All else is written in operators of ONNX.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderShape:
    """How large a decoder is, and how its weights are stored."""

    layers: int = 6
    hidden: int = 2048
    inner: int = 5632
    heads: int = 16
    tokens: int = 1
    past: int = 63
    bits: int = 4
    block: int = 32
    level: int = 4
    has_zeros: bool = False

    @property
    def width(self) -> int:
        """Of a head."""
        return self.hidden // self.heads

    @property
    def weight_bytes(self) -> int:
        """Of all products, their scales and zero points included."""
        products = 4 * self.hidden * self.hidden + 3 * self.hidden * self.inner
        per_block = 4 + (self.bits / 8 if self.has_zeros else 0)
        return round(self.layers * products * (self.bits / 8 + per_block / self.block))


def packed_decoder(shape: DecoderShape, seed: int = 0) -> onnx.ModelProto:
    """The model: `hidden` (tokens, hidden), and `key_i` and `value_i` (heads, past, width) of every layer, to `result`."""
    return _Writer(shape, np.random.default_rng(seed)).model()


def feeds(shape: DecoderShape, seed: int = 1) -> dict[str, Any]:
    """Random operands."""
    random = np.random.default_rng(seed)
    found = {"hidden": random.standard_normal((shape.tokens, shape.hidden), np.float32)}
    for layer in range(shape.layers):
        for name in ("key", "value"):
            found[f"{name}_{layer}"] = random.standard_normal((shape.heads, shape.past, shape.width), np.float32)
    return found


@dataclass(slots=True)
class _Writer:
    shape: DecoderShape
    random: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)

    def model(self) -> onnx.ModelProto:
        """All layers, one after the other."""
        x = "hidden"
        for layer in range(self.shape.layers):
            x = self.layer(x, layer)
        self.nodes[-1].output[0] = "result"
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in feeds(self.shape).items()
        ]
        rows = [self.shape.tokens, self.shape.hidden]
        outputs = [helper.make_tensor_value_info("result", TensorProto.FLOAT, rows)]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.weights)
        imports = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9)

    def layer(self, x: str, layer: int) -> str:
        """Attention and a gated network, each with a norm before it and its operand added."""
        hidden, inner = self.shape.hidden, self.shape.inner
        normed = self.norm(x)
        query, key, value = (self.by_heads(self.product(normed, hidden, hidden)) for _ in range(3))
        keys = self.node("Concat", [f"key_{layer}", self.turned(key)], axis=1)
        values = self.node("Concat", [f"value_{layer}", value], axis=1)
        scores = self.node("MatMul", [self.turned(query), self.node("Transpose", [keys], perm=[0, 2, 1])])
        scores = self.node("Mul", [scores, self.number(self.shape.width**-0.5)])
        mixed = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), values])
        mixed = self.node("Reshape", [self.node("Transpose", [mixed], perm=[1, 0, 2]), self.constant(np.array([-1, hidden]))])
        x = self.node("Add", [x, self.product(mixed, hidden, hidden)])
        normed = self.norm(x)
        gate, up = (self.product(normed, hidden, inner) for _ in range(2))
        gated = self.node("Mul", [self.node("Mul", [gate, self.node("Sigmoid", [gate])]), up])
        return self.node("Add", [x, self.product(gated, inner, hidden)])

    def norm(self, x: str) -> str:
        """x over its root mean square, times weights."""
        mean = self.node("ReduceMean", [self.node("Mul", [x, x]), self.constant(np.array([-1]))], keepdims=1)
        size = self.node("Sqrt", [self.node("Add", [mean, self.number(1e-6)])])
        weights = self.random.uniform(0.5, 1.5, self.shape.hidden).astype(np.float32)
        return self.node("Mul", [self.node("Div", [x, size]), self.constant(weights)])

    def by_heads(self, x: str) -> str:
        """(heads, tokens, width)."""
        shape = self.constant(np.array([-1, self.shape.heads, self.shape.width]))
        return self.node("Transpose", [self.node("Reshape", [x, shape])], perm=[1, 0, 2])

    def turned(self, x: str) -> str:
        """Halves of every head turned into each other, by angles that depend on the position."""
        half = self.shape.width // 2
        positions = self.shape.past + np.arange(self.shape.tokens)
        angles = positions[:, None] / 10000.0 ** (np.arange(half) / half)
        cosines, sines = (self.constant(f(np.concatenate([angles, angles], 1)).astype(np.float32)) for f in (np.cos, np.sin))
        first, second = self.split(x)
        other = self.node("Concat", [self.node("Neg", [second]), first], axis=-1)
        return self.node("Add", [self.node("Mul", [x, cosines]), self.node("Mul", [other, sines])])

    def split(self, x: str) -> tuple[str, str]:
        """The two halves of the last dimension."""
        names = f"{x}_first", f"{x}_second"
        self.nodes.append(helper.make_node("Split", [x], list(names), axis=-1, num_outputs=2))
        return names

    def product(self, x: str, k: int, n: int) -> str:
        """By weights whose results have the size of x."""
        shape = self.shape
        blocks, largest = -(-k // shape.block), 1 << (shape.bits - 1)
        numbers = self.random.integers(0, 256, (n, blocks, shape.block * shape.bits // 8), np.uint8)
        scales = self.random.uniform(0.5, 1.5, (n, blocks)).astype(np.float32) * np.float32(1.7 / largest / k**0.5)
        operands = [x, self.constant(numbers), self.constant(scales)]
        if shape.has_zeros:
            operands.append(self.constant(self.random.integers(0, 256, (n, -(-blocks * shape.bits // 8)), np.uint8)))
        sizes = {"K": k, "N": n, "bits": shape.bits, "block_size": shape.block, "accuracy_level": shape.level}
        return self.node("MatMulNBits", operands, domain=DOMAIN, **sizes)

    def node(self, kind: str, operands: list[str], **attributes: Any) -> str:
        """A node of one result, whose name is returned."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def constant(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name
