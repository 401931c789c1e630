"""ONNX Runtime on models: a session of the file, inputs and outputs bound."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright_bench.cases.model import ModelCase, joined
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: ModelCase, threads: int) -> Iterator[Contender]:
    """All optimisations, one operator after the other."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(case.path), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in case.feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)))
    outputs = [onnxruntime.OrtValue.ortvalue_from_numpy(output) for output in session.run(None, case.feeds)]
    for output, value in zip(session.get_outputs(), outputs, strict=True):
        binding.bind_ortvalue_output(output.name, value)
    yield Contender(
        "onnxruntime", lambda: session.run_with_iobinding(binding), lambda: joined([output.numpy() for output in outputs])
    )


PEER = Peer("onnxruntime", ("onnxruntime",), prepare, "all optimisations; inputs and outputs bound")
