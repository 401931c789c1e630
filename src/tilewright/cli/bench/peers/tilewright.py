"""Tilewright itself: one fused kernel, planned for this machine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tilewright as tw
from tilewright.cli import chain_functions
from tilewright.cli.bench.cases import ChainCase
from tilewright.cli.bench.contender import Contender, Peer


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """The kernel that `tw.jit` makes."""
    function = chain_functions.attention if case.softmax else chain_functions.gemm_chain
    kernel = tw.jit(function, threads=threads).lower(*case.operands).compile()
    out = np.empty(case.reference.shape, np.float32)
    yield Contender("tilewright", lambda: kernel(*case.operands, out=out), lambda: out)


PEER = Peer("tilewright", (), prepare, "packs its operands inside the measured call")
