"""Tilewright on linear layers: the kernels of a network with constant weights, planned for this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tilewright as tw
from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_networks import EPSILON, network
from tilewright_bench.measurement import plain_read
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: MlpCase, threads: int) -> Iterator[Contender]:
    """The kernels that `tw.jit` makes, beside a plain read of the weights where one row reads them."""
    yield from plain_read.prepare(case.streamed, case.reference if case.streamed else np.empty(0), threads)

    def function(x: Any) -> Any:
        return network(case.shape, Traced(), x, case.weights, case.biases)

    kernel = tw.jit(function, threads=threads).lower(case.rows).compile()
    out = aligned(case.result_shape)
    yield Contender(TILEWRIGHT, lambda: kernel(case.rows, out=out), lambda: out)


class Traced:
    """As a user writes it."""

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        product = tw.einsum("mk,kn->mn", x, weight)
        return product if bias is None else product + bias

    def relu(self, x: Any) -> Any:
        return tw.relu(x)

    def gelu(self, x: Any) -> Any:
        return tw.gelu(x)

    def silu(self, x: Any) -> Any:
        return tw.silu(x)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        return x * y

    def layer_norm(self, x: Any) -> Any:
        centred = x - tw.mean(x, axis=-1, keepdims=True)
        return centred / tw.sqrt(tw.mean(centred * centred, axis=-1, keepdims=True) + EPSILON)


PEER = Peer(TILEWRIGHT, (), prepare, "weights are NumPy arrays that the jitted function closes over, packed when it is compiled")
