"""OpenVINO on the CPU: MatMul, Softmax, MatMul, and its fused attention; f32 precision, one stream, tensors set ahead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.cli.bench.cases import ChainCase, FloatArray, aligned
from tilewright.cli.bench.contender import Contender, Peer


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """Each model compiled on its own."""
    a, b, d = case.operands
    yield _contender("openvino", _products, (a, b, d), case, threads)
    if case.softmax:
        keys = np.ascontiguousarray(b.transpose(0, 2, 1))
        yield _contender("openvino sdpa", _attention, (a[None], keys[None], d[None]), case, threads)


def _products(case: ChainCase, a: Any, b: Any, d: Any) -> Any:
    from openvino import opset13

    scores = opset13.matmul(a, b, False, False)
    return opset13.matmul(opset13.softmax(scores, -1) if case.softmax else scores, d, False, False)


def _attention(case: ChainCase, a: Any, b: Any, d: Any) -> Any:
    from openvino import opset13

    no_mask = opset13.constant(np.zeros((1, 1, 1, 1), np.float32))
    return opset13.scaled_dot_product_attention(a, b, d, no_mask, opset13.constant(np.float32(1.0)))


def _contender(name: str, build: Any, arrays: tuple[FloatArray, ...], case: ChainCase, threads: int) -> Contender:
    import openvino
    from openvino import opset13

    given = arrays[:1] if case.prepacked else arrays
    inputs = [opset13.parameter(array.shape, np.float32) for array in given]
    constants = [opset13.constant(array) for array in arrays[len(given) :]]
    model = openvino.Model([build(case, *inputs, *constants)], inputs, "chain")
    settings = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads)}
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    for number, array in enumerate(given):
        request.set_input_tensor(number, openvino.Tensor(np.ascontiguousarray(array), shared_memory=True))
    out = aligned(case.result_shape)
    shape = tuple(model.outputs[0].shape)
    request.set_output_tensor(0, openvino.Tensor(out.reshape(shape), shared_memory=True))
    return Contender(name, request.infer, lambda: out)


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "f32 hint, one stream, tensors set ahead; for sdpa the keys are transposed ahead",
    prepacked_note="constants, which compile_model packs if it can",
)
