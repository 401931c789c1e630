"""ONNX Runtime on chains of convolutions: nodes with weights as initializers; input and output are bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.conv_chain_networks import HIGHEST, chain
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onnxruntime.session import Model, RecordedNodes, contender


def prepare(case: ConvChainCase, threads: int) -> Iterator[Contender]:
    """One model."""
    yield contender("onnxruntime", _model(case), threads)


def _model(case: ConvChainCase) -> Model:
    from onnx import helper

    numbers = range(len(case.filters))
    constants: dict[str, np.ndarray[Any, Any]] = {f"w{i}": filters for i, filters in enumerate(case.filters)}
    constants |= {f"b{i}": bias for i, bias in enumerate(case.biases)}
    constants |= {"lowest": np.array(0.0, np.float32), "highest": np.array(HIGHEST, np.float32)}
    nodes = Nodes()
    last = chain(case.shape, nodes, "x", [f"w{i}" for i in numbers], [f"b{i}" for i in numbers])
    made = [*nodes.made, helper.make_node("Identity", [last], ["out"])]
    used = {name for node in made for name in node.input}
    return Model(made, {"x": case.image}, {name: array for name, array in constants.items() if name in used}, case.result_shape)


class Nodes(RecordedNodes):
    """Operators of the chains by name."""

    def conv(self, shape: ConvShape, x: str, filters: str, bias: str | None) -> str:
        attributes = {"strides": shape.stride, "pads": (*shape.padding, *shape.padding), "group": shape.groups}
        return self._node("Conv", x, filters, *([] if bias is None else [bias]), kernel_shape=shape.kernel, **attributes)

    def relu6(self, x: str) -> str:
        return self._node("Clip", x, "lowest", "highest")


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "NCHW, input and output bound; weights are initializers, which the session reorders when it is made",
)
