"""OpenVINO on attention: in steps, and fused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.openvino.request import contender

BY_HEAD = [0, 2, 1, 3]


def prepare(case: AttentionCase, threads: int) -> Iterator[Contender]:
    """Each model compiled on its own."""
    extra = () if case.shape.bias == "none" else (case.added,)
    arrays = (*case.operands, *extra)
    if not case.shape.causal:
        yield contender("openvino", lambda *given: _laid_out(case, _in_steps, *given), arrays, case.result_shape, threads)
    yield contender("openvino sdpa", lambda *given: _laid_out(case, _fused, *given), arrays, case.result_shape, threads)


def _laid_out(case: AttentionCase, attend: Any, q: Any, k: Any, v: Any, *bias: Any) -> Any:
    """`attend` on (b, h, m, k), transposed from and to the case's layout within the model."""
    from openvino import opset13

    if case.shape.layout == "bhmk":
        return attend(case, q, _repeated(case, k), _repeated(case, v), *bias)
    order = opset13.constant(np.array(BY_HEAD))
    q, k, v = (opset13.transpose(operand, order) for operand in (q, k, v))
    return opset13.transpose(attend(case, q, _repeated(case, k), _repeated(case, v), *bias), order)


def _repeated(case: AttentionCase, shared: Any) -> Any:
    """Heads of keys or values for each of the queries, as its models of grouped heads have them."""
    from openvino import opset13

    shape = case.shape
    if shape.heads == shape.shared_heads:
        return shared
    group = shape.heads // shape.shared_heads
    wide = np.array([1, shape.shared_heads, group, shape.keys, shape.width])
    spread = opset13.broadcast(opset13.unsqueeze(shared, opset13.constant(2)), opset13.constant(wide))
    return opset13.reshape(spread, opset13.constant(np.array([1, shape.heads, shape.keys, shape.width])), False)


def _in_steps(case: AttentionCase, q: Any, k: Any, v: Any, *bias: Any) -> Any:
    from openvino import opset13

    scale = opset13.constant(np.float32(1 / math.sqrt(case.shape.width)))
    scores = opset13.multiply(opset13.matmul(q, k, False, True), scale)
    for added in bias:
        scores = opset13.add(scores, added)
    return opset13.matmul(opset13.softmax(scores, -1), v, False, False)


def _fused(case: AttentionCase, q: Any, k: Any, v: Any, *bias: Any) -> Any:
    from openvino import opset13

    if case.shape.causal:
        return opset13.scaled_dot_product_attention(q, k, v, causal=True)
    return opset13.scaled_dot_product_attention(q, k, v, *bias)


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "f32 hint, one stream, tensors set ahead; in steps and fused; (b, m, h, k) transposed within the model, masks added",
)
