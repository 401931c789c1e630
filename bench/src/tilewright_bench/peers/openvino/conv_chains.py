"""OpenVINO on chains of convolutions: Convolution, GroupConvolution and element-wise operations with weights as constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright_bench.cases.conv_chain_networks import HIGHEST, chain
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.openvino.request import contender


def prepare(case: ConvChainCase, threads: int) -> Iterator[Contender]:
    """One model."""

    def build(image: Any) -> Any:
        return chain(case.shape, Operators(), image, case.filters, case.biases)

    yield contender("openvino", build, (case.image,), case.result_shape, threads)


class Operators:
    """By `openvino.opset13`; weights are NumPy arrays."""

    def conv(self, shape: ConvShape, x: Any, filters: Any, bias: Any) -> Any:
        from openvino import opset13

        options = list(map(list, (shape.stride, shape.padding, shape.padding, shape.dilation)))
        if shape.groups == 1:
            result = opset13.convolution(x, opset13.constant(filters), *options)
        else:
            by_group = filters.reshape(shape.groups, -1, *shape.filter_shape[1:])
            result = opset13.group_convolution(x, opset13.constant(by_group), *options)
        return result if bias is None else opset13.add(result, opset13.constant(bias.reshape(1, -1, 1, 1)))

    def relu(self, x: Any) -> Any:
        from openvino import opset13

        return opset13.relu(x)

    def relu6(self, x: Any) -> Any:
        from openvino import opset13

        return opset13.clamp(x, 0.0, HIGHEST)

    def add(self, x: Any, y: Any) -> Any:
        from openvino import opset13

        return opset13.add(x, y)


PEER = Peer(
    "openvino",
    ("openvino",),
    prepare,
    "NCHW, f32 hint, one stream, tensors set ahead; weights are constants, which compile_model packs",
)
