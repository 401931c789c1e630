"""OpenVINO on linear layers: MatMul and element-wise operations with weights as constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_networks import EPSILON, network
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.openvino.request import contender


def prepare(case: MlpCase, threads: int) -> Iterator[Contender]:
    """One model."""
    from openvino import opset13

    weights = [opset13.constant(weight) for weight in case.weights]
    biases = [opset13.constant(bias) for bias in case.biases]

    def build(x: Any) -> Any:
        return network(case.shape, Operators(), x, weights, biases)

    yield contender("openvino", build, (case.rows,), case.result_shape, threads)


class Operators:
    """By `openvino.opset13`."""

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        from openvino import opset13

        product = opset13.matmul(x, weight, False, False)
        return product if bias is None else opset13.add(product, bias)

    def relu(self, x: Any) -> Any:
        from openvino import opset13

        return opset13.relu(x)

    def gelu(self, x: Any) -> Any:
        from openvino import opset13

        return opset13.gelu(x, "erf")

    def silu(self, x: Any) -> Any:
        from openvino import opset13

        return opset13.swish(x)

    def add(self, x: Any, y: Any) -> Any:
        from openvino import opset13

        return opset13.add(x, y)

    def multiply(self, x: Any, y: Any) -> Any:
        from openvino import opset13

        return opset13.multiply(x, y)

    def layer_norm(self, x: Any) -> Any:
        from openvino import opset13

        return opset13.mvn(x, opset13.constant(np.array([1])), True, EPSILON, "inside_sqrt")


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "f32 hint, one stream, tensors set ahead; weights are constants, which compile_model packs",
)
