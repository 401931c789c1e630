"""OpenVINO on convolutions: Convolution or GroupConvolution with filters as a constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.openvino.request import contender


def prepare(case: ConvCase, threads: int) -> Iterator[Contender]:
    """One model."""
    from openvino import opset13

    shape = case.shape
    options = list(map(list, (shape.stride, shape.padding, shape.padding, shape.dilation)))
    by_group = case.filters.reshape(shape.groups, -1, *shape.filter_shape[1:])

    def build(x: Any) -> Any:
        if shape.groups == 1:
            return opset13.convolution(x, opset13.constant(case.filters), *options)
        return opset13.group_convolution(x, opset13.constant(by_group), *options)

    yield contender("openvino", build, (case.image,), case.result_shape, threads)


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "NCHW, f32 hint, one stream, tensors set ahead",
    prepacked_note="constants, which compile_model packs",
)
