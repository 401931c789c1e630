"""oneDNN on products: the matmul primitive, and `dnnl_sgemm`, on the caller's arrays."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onednn import library as onednn_library


def prepare(case: GemmCase, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment before OpenMP was loaded."""
    library = onednn_library.load()
    a, b = case.operands
    runs = call_loops.executions(case.flops) if case.shape.is_square else 1
    out = aligned(case.result_shape)
    matmul = onednn_library.matmul(library, a, b, out, prepacked=case.prepacked)
    yield Contender("onednn matmul", lambda: matmul(runs), lambda: out, runs)
    if not case.prepacked:
        product = aligned(case.result_shape)
        sgemm = call_loops.dnnl_sgemm(library.dnnl_sgemm, a, b, product)
        yield Contender("onednn sgemm", lambda: sgemm(runs), lambda: product, runs)


PEER = Peer(
    "onednn",
    (onednn_library.PACKAGE,),
    prepare,
    "primitive and sgemm on the caller's arrays; squares: in a loop in C",
    prepacked_note="in the order that the primitive asks for",
    hint=onednn_library.HINT,
)
