"""ONNX Runtime on chains: MatMul, Softmax, MatMul as a model, and its Attention operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tilewright_bench.cases.case import FloatArray
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onnxruntime.session import Model, contender


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """Each model in a session of its own."""
    a, b, d = case.operands
    yield contender("onnxruntime", _products(case, {"a": a, "b": b, "d": d}), threads)
    if case.softmax:
        keys = np.ascontiguousarray(b.transpose(0, 2, 1))
        made = contender("onnxruntime attention", _attention(case, {"a": a[None], "b": keys[None], "d": d[None]}), threads)
        yield Contender(made.name, made.call, lambda: made.result()[0])


def _products(case: ChainCase, arrays: Mapping[str, FloatArray]) -> Model:
    from onnx import helper

    weights = "weights" if case.softmax else "scores"
    nodes = [helper.make_node("MatMul", ["a", "b"], ["scores"])]
    nodes += [helper.make_node("Softmax", ["scores"], ["weights"], axis=-1)] if case.softmax else []
    nodes += [helper.make_node("MatMul", [weights, "d"], ["out"])]
    return _model(case, nodes, arrays, case.result_shape)


def _attention(case: ChainCase, arrays: Mapping[str, FloatArray]) -> Model:
    from onnx import helper

    node = helper.make_node("Attention", ["a", "b", "d"], ["out"], scale=1.0)
    return _model(case, [node], arrays, (1, *case.result_shape))


def _model(case: ChainCase, nodes: list[Any], arrays: Mapping[str, FloatArray], result: tuple[int, ...]) -> Model:
    """All arrays but the first are constants of a prepacked model, inputs of any other."""
    constants = {name: array for name, array in arrays.items() if case.prepacked and name != "a"}
    return Model(nodes, {name: array for name, array in arrays.items() if name not in constants}, constants, result)


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "inputs and outputs bound; for attention the keys are transposed ahead",
    prepacked_note="initializers, which the session packs when it is made if it can",
)
