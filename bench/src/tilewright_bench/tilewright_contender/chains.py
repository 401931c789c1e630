"""Tilewright on chains: one fused kernel, planned for this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tilewright as tw
from tilewright.tune import chain_functions
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """The kernel that `tw.jit` makes."""
    function = chain_functions.attention if case.softmax else chain_functions.gemm_chain
    _, b, d = case.operands
    given = case.operands[:1] if case.prepacked else case.operands
    kernel = tw.jit(_with_constants(function, b, d) if case.prepacked else function, threads=threads).lower(*given).compile()
    out = aligned(case.result_shape)
    yield Contender(TILEWRIGHT, lambda: kernel(*given, out=out), lambda: out)


def _with_constants(function: Callable[..., Any], b: FloatArray, d: FloatArray) -> Callable[[Any], Any]:
    """Arrays that a jitted function closes over are constants of its kernel."""

    def chain(a: Any) -> Any:
        return function(a, b, d)

    return chain


PEER = Peer(
    TILEWRIGHT,
    (),
    prepare,
    "packs its operands inside the measured call",
    prepacked_note="NumPy arrays that the jitted function closes over",
    may_fail=False,
)
