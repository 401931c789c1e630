"""A model of a few OpenVINO operations on the CPU: f32 precision, one stream, tensors set ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright_bench.cases.case import aligned
from tilewright_bench.measurement.contender import Contender


def contender(
    name: str, build: Callable[..., Any], arrays: Sequence[np.ndarray[Any, Any]], shape: tuple[int, ...], threads: int
) -> Contender:
    """What `build` makes of a parameter for each array, with a result of that shape."""
    import openvino
    from openvino import opset13

    inputs = [opset13.parameter(array.shape, array.dtype) for array in arrays]
    model = openvino.Model([build(*inputs)], inputs, "case")
    settings = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads)}
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    for number, array in enumerate(arrays):
        request.set_input_tensor(number, openvino.Tensor(np.ascontiguousarray(array), shared_memory=True))
    out = aligned(shape)
    request.set_output_tensor(0, openvino.Tensor(out, shared_memory=True))
    return Contender(name, request.infer, lambda: out)
