"""ONNX Runtime on products of integers: models of one node with weights as an initializer, input and output bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.cases.product_case import OneNodeCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onnxruntime.session import CONTRIB, Model, contender


def prepare(case: OneNodeCase, threads: int) -> Iterator[Contender]:
    """The session packs the weights when it is made."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(case.model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(case.result_shape, case.result_type)
    binding.bind_ortvalue_input("a", onnxruntime.OrtValue.ortvalue_from_numpy(case.operands[0]))
    binding.bind_ortvalue_output("c", out)
    yield Contender("onnxruntime", lambda: session.run_with_iobinding(binding), out.numpy)


def bytes_(case: Int8Case, threads: int) -> Iterator[Contender]:
    """Both operators that multiply bytes."""
    yield from prepare(case, threads)
    yield contender("onnxruntime QGemm", _qgemm(case), threads)


def _qgemm(case: Int8Case) -> Model:
    """All scales are one, the result is float32."""
    from onnx import helper

    a, b = case.operands
    numbers: dict[str, np.ndarray[Any, Any]] = {"b": b, "one": np.array(1, np.float32)}
    numbers |= {"zero": np.array(ZERO, np.uint8), "none": np.array(0, np.int8)}
    node = helper.make_node("QGemm", ["a", "one", "zero", "b", "one", "none"], ["out"], domain=CONTRIB)
    return Model([node], {"a": a}, numbers, case.result_shape)


def _peer(operators: str, run: Any = prepare) -> Peer[Any]:
    note = f"{operators}; input and output bound; the session packs weights"
    return Peer("onnxruntime", ("onnxruntime", "onnx"), run, note)


PEERS: dict[str, Peer[Any]] = {
    "int8": _peer("MatMulInteger, and QGemm with a result in float32", bytes_),
    "int8-dynamic": _peer("DynamicQuantizeMatMul"),
    "int16": _peer("MatMulInteger16"),
    "nbits": _peer("MatMulNBits"),
}
