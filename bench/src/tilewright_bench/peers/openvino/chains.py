"""OpenVINO on chains: MatMul, Softmax, MatMul, and its fused attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.case import FloatArray
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.openvino.request import contender


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """Each model compiled on its own."""
    a, b, d = case.operands
    yield _contender("openvino", _products, (a, b, d), case, case.result_shape, threads)
    if case.softmax:
        keys = np.ascontiguousarray(b.transpose(0, 2, 1))
        made = _contender("openvino sdpa", _attention, (a[None], keys[None], d[None]), case, (1, *case.result_shape), threads)
        yield Contender(made.name, made.call, lambda: made.result()[0])


def _products(case: ChainCase, a: Any, b: Any, d: Any) -> Any:
    from openvino import opset13

    scores = opset13.matmul(a, b, False, False)
    return opset13.matmul(opset13.softmax(scores, -1) if case.softmax else scores, d, False, False)


def _attention(case: ChainCase, a: Any, b: Any, d: Any) -> Any:
    from openvino import opset13

    no_mask = opset13.constant(np.zeros((1, 1, 1, 1), np.float32))
    return opset13.scaled_dot_product_attention(a, b, d, no_mask, opset13.constant(np.float32(1.0)))


def _contender(
    name: str,
    compute: Callable[..., Any],
    arrays: tuple[FloatArray, ...],
    case: ChainCase,
    result: tuple[int, ...],
    threads: int,
) -> Contender:
    """All arrays but the first are constants of a prepacked model, inputs of any other."""
    from openvino import opset13

    given = arrays[:1] if case.prepacked else arrays
    constants = [opset13.constant(array) for array in arrays[len(given) :]]
    return contender(name, lambda *inputs: compute(case, *inputs, *constants), given, result, threads)


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "f32 hint, one stream, tensors set ahead; for sdpa the keys are transposed ahead",
    prepacked_note="constants, which compile_model packs if it can",
)
