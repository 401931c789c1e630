"""ONNX Runtime on linear layers: Gemm and element-wise nodes with weights as initializers; input and output are bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_networks import EPSILON, network
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onnxruntime.session import Model, RecordedNodes, contender


def prepare(case: MlpCase, threads: int) -> Iterator[Contender]:
    """One model, once with Gemm and once with MatMul."""
    for name, operator in (("onnxruntime", "Gemm"), ("onnxruntime MatMul", "MatMul")):
        yield contender(name, _model(case, operator), threads)


def _model(case: MlpCase, operator: str) -> Model:
    from onnx import helper

    constants: dict[str, np.ndarray[Any, Any]] = {f"w{i}": weight for i, weight in enumerate(case.weights)}
    constants |= {f"b{i}": bias for i, bias in enumerate(case.biases)}
    nodes = Nodes(operator)
    numbers = range(len(case.weights))
    last = network(case.shape, nodes, "x", [f"w{i}" for i in numbers], [f"b{i}" for i in numbers])
    made = [*nodes.made, helper.make_node("Identity", [last], ["out"])]
    used = {name for node in made for name in node.input}
    constants |= {"gain": np.ones(case.result_shape[1], np.float32)}
    return Model(made, {"x": case.rows}, {name: array for name, array in constants.items() if name in used}, case.result_shape)


class Nodes(RecordedNodes):
    """Operators of the networks by name."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        super().__init__()

    def linear(self, x: str, weight: str, bias: str | None) -> str:
        if self.operator == "Gemm":
            return self._node("Gemm", x, weight, *([] if bias is None else [bias]))
        product = self._node("MatMul", x, weight)
        return product if bias is None else self._node("Add", product, bias)

    def gelu(self, x: str) -> str:
        return self._node("Gelu", x)

    def silu(self, x: str) -> str:
        return self._node("Mul", x, self._node("Sigmoid", x))

    def multiply(self, x: str, y: str) -> str:
        return self._node("Mul", x, y)

    def layer_norm(self, x: str) -> str:
        return self._node("LayerNormalization", x, "gain", epsilon=EPSILON)


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "input and output bound; weights are initializers, which the session packs when it is made; Gemm, and MatMul with Add",
)
