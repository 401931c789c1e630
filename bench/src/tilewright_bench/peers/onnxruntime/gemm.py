"""ONNX Runtime on products of other types than float32: models of one node, inputs and output bound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: GemmCase, threads: int) -> Iterator[Contender]:
    """A constant is packed, if the session packs any of that type, when it is made."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(case.model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(case.result_shape, np.dtype(case.result_dtype).type)
    for given, array in zip(session.get_inputs(), case.operands, strict=False):
        binding.bind_ortvalue_input(given.name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    binding.bind_ortvalue_output("c", out)
    yield Contender("onnxruntime", lambda: session.run_with_iobinding(binding), out.numpy, tolerance=case.tolerance)


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "MatMul, of int16 MatMulInteger16; inputs and output bound",
    prepacked_note="an initializer of the model",
)
