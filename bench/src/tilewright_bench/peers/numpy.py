"""NumPy on chains (batched products, the softmax in place) and on products; squares by the OpenBLAS of its wheel, from C."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import Contender, Peer

SYMBOL = "scipy_cblas_{}64_"
"""In `numpy.libs`: 64-bit extents, and names of its own so that it can share a process with another OpenBLAS."""


MOST_PLAIN_FLOPS = 2e9
"""Of a product of a type that BLAS has not."""


def chain(case: ChainCase, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment before NumPy was imported."""
    a, b, d = case.operands
    scores, out = aligned((case.shape.batch, case.shape.m, case.shape.l)), aligned(case.result_shape)

    def call() -> None:
        np.matmul(a, b, out=scores)
        if case.softmax:
            np.subtract(scores, scores.max(axis=-1, keepdims=True), out=scores)
            np.exp(scores, out=scores)
            np.divide(scores, scores.sum(axis=-1, keepdims=True), out=scores)
        np.matmul(scores, d, out=out)

    yield Contender("numpy", call, lambda: out)


def product(case: GemmCase, threads: int) -> Iterator[Contender]:
    """`matmul` into an array made ahead; for squares the OpenBLAS below it."""
    a, b = case.operands
    out = case.empty_result()
    if case.is_looped:
        runs = call_loops.executions(case.flops)
        loop = call_loops.cblas_gemm_64(getattr(_openblas(), SYMBOL.format(call_loops.GEMMS[case.dtype])), a, b, out)
        yield Contender("numpy (cblas)", lambda: loop(runs), lambda: out, runs, tolerance=case.tolerance)
        return
    if case.dtype not in call_loops.GEMMS and case.flops > MOST_PLAIN_FLOPS:
        raise UnsupportedOperation(f"loops without a BLAS take minutes for more than {MOST_PLAIN_FLOPS / 1e9:.0f} GFLOP")
    call = partial(np.matmul, a, b, out=out, dtype=out.dtype, casting="same_kind")
    yield Contender("numpy", call, lambda: out, tolerance=case.tolerance)


def _openblas() -> ctypes.CDLL:
    libraries = sorted(Path(np.__file__).parent.parent.joinpath("numpy.libs").glob("libscipy_openblas64_*"))
    if not libraries:
        raise FileNotFoundError("this NumPy does not come with the OpenBLAS of its wheels")
    return ctypes.CDLL(str(libraries[0]))


PREPACKED_NOTE = "as any other operand"
PEERS: dict[str, Peer[Any]] = {
    "chains": Peer("numpy", ("numpy",), chain, "results and scores in arrays made ahead", PREPACKED_NOTE),
    **dict.fromkeys(
        ("gemm", "gemm-types"),
        Peer(
            "numpy",
            ("numpy",),
            product,
            "the result in an array made ahead; floats by its OpenBLAS, squares in a loop in C; other types in loops of its own",
            PREPACKED_NOTE,
        ),
    ),
}
