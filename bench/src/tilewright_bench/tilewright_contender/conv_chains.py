"""Tilewright on chains of convolutions: the kernels of a function with constant weights, planned for this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tilewright as tw
from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.conv_chain_networks import HIGHEST, chain
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: ConvChainCase, threads: int) -> Iterator[Contender]:
    """The kernels that `tw.jit` makes."""

    def function(image: Any) -> Any:
        return chain(case.shape, Traced(), image, case.filters, case.biases)

    kernel = tw.jit(function, threads=threads).lower(case.image).compile()
    out = aligned(case.result_shape)
    yield Contender(TILEWRIGHT, lambda: kernel(case.image, out=out), lambda: out)


class Traced:
    """As a user writes it."""

    def conv(self, shape: ConvShape, x: Any, filters: Any, bias: Any) -> Any:
        return tw.conv2d(x, filters, bias, stride=shape.stride, padding=shape.padding, groups=shape.groups)

    def relu(self, x: Any) -> Any:
        return tw.relu(x)

    def relu6(self, x: Any) -> Any:
        return tw.clip(x, 0.0, HIGHEST)

    def add(self, x: Any, y: Any) -> Any:
        return x + y


PEER = Peer(
    TILEWRIGHT,
    (),
    prepare,
    "NCHW in and out; weights are NumPy arrays that the jitted function closes over, packed when it is compiled",
    may_fail=False,
)
