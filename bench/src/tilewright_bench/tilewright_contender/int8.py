"""Tilewright on products of bytes: a session of MatMulInteger, input and output bound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright_bench.cases.int8 import Int8Case
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """Weights are packed when the session is made."""
    import tilewright.onnx as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(case.model, options)
    binding, out = session.io_binding(), ort.OrtValue.ortvalue_from_shape_and_type(case.result_shape, np.int32)
    binding.bind_ortvalue_input("a", ort.OrtValue.ortvalue_from_numpy(case.operands[0]))
    binding.bind_ortvalue_output("c", out)
    yield Contender(TILEWRIGHT, lambda: session.run_with_iobinding(binding), out.numpy)


PEER = Peer(TILEWRIGHT, ("onnx",), prepare, "a session of MatMulInteger; input and output bound", may_fail=False)
