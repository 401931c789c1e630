"""OpenVINO on models: the file read as it is, f32 precision, one stream, inputs set ahead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright_bench.cases.model import ModelCase, joined
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: ModelCase, threads: int) -> Iterator[Contender]:
    """Compiled for the shapes of the operands."""
    import openvino

    core = openvino.Core()
    model = core.read_model(case.path)
    model.reshape({name: list(array.shape) for name, array in case.feeds.items()})
    settings = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads)}
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    for name, array in case.feeds.items():
        request.set_tensor(name, openvino.Tensor(np.ascontiguousarray(array), shared_memory=True))
    numbers = range(len(compiled.outputs))
    yield Contender("openvino", request.infer, lambda: joined([request.get_output_tensor(i).data for i in numbers]))


PEER = Peer("openvino", ("openvino",), prepare, "f32 hint, one stream, shapes fixed, inputs set ahead")
