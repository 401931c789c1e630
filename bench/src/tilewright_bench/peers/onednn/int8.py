"""oneDNN on products of bytes: the matmul primitive with a zero point, in a loop in C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright_bench.cases.case import aligned_of
from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onednn import library as onednn_library


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment before OpenMP was loaded."""
    a, b = case.operands
    runs, library = call_loops.executions(case.flops), onednn_library.load()

    def contender(name: str, *, prepacked: bool) -> Contender:
        out = aligned_of(case.result_shape, np.dtype(np.int32))
        matmul = onednn_library.matmul(library, a, b, out, prepacked=prepacked, zero=ZERO)
        return Contender(name, lambda: matmul(runs), lambda: out, runs)

    if case.prepacked:
        yield contender("onednn", prepacked=True)
    yield contender("onednn row-major", prepacked=False)


PEER = Peer(
    "onednn",
    (onednn_library.PACKAGE,),
    prepare,
    "the matmul primitive in a loop in C",
    prepacked_note="in the order that the primitive asks for, which may take slower code, and row-major",
    hint=onednn_library.HINT,
)
