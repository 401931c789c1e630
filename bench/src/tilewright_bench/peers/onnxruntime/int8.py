"""ONNX Runtime on products of bytes: MatMulInteger with weights as an initializer, input and output bound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright_bench.cases.int8 import Int8Case
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """The session packs the weights when it is made."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(case.model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(case.result_shape, np.int32)
    binding.bind_ortvalue_input("a", onnxruntime.OrtValue.ortvalue_from_numpy(case.operands[0]))
    binding.bind_ortvalue_output("c", out)
    yield Contender("onnxruntime", lambda: session.run_with_iobinding(binding), out.numpy)


PEER = Peer("onnxruntime", ("onnxruntime", "onnx"), prepare, "MatMulInteger; input and output bound; the session packs weights")
