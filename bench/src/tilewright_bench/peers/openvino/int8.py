"""OpenVINO on products of bytes: what its low-precision transformations make of quantised operands, with a result in float32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.openvino.request import contender


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """The input is centred by a FakeQuantize of 256 levels: without one, nothing is computed in bytes."""

    def build(a: Any) -> Any:
        from openvino import opset13

        ends = [np.float32(end) for end in (0, 255, -ZERO, 255 - ZERO)]
        centred = opset13.fake_quantize(opset13.convert(a, "f32"), *ends, 256)
        weights = opset13.multiply(opset13.convert(opset13.constant(case.operands[1]), "f32"), opset13.constant(np.float32(1)))
        return opset13.matmul(centred, weights, False, False)

    yield contender("openvino", build, case.operands[:1], case.result_shape, threads)


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "FakeQuantize and MatMul, which become products of bytes; f32 result, one stream, tensors set ahead; compile_model packs",
)
