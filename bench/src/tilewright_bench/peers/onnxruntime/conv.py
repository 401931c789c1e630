"""ONNX Runtime on convolutions: a Conv node with filters as an initializer; input and output are bound."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onnxruntime.session import Model, contender


def prepare(case: ConvCase, threads: int) -> Iterator[Contender]:
    """One model."""
    from onnx import helper

    shape = case.shape
    attributes = {"strides": shape.stride, "dilations": shape.dilation, "pads": (*shape.padding, *shape.padding)}
    node = helper.make_node("Conv", ["x", "w"], ["out"], kernel_shape=shape.kernel, group=shape.groups, **attributes)
    yield contender("onnxruntime", Model([node], {"x": case.image}, {"w": case.filters}, case.result_shape), threads)


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "NCHW, input and output bound",
    prepacked_note="initializers, which the session reorders when it is made",
)
