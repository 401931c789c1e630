"""NumPy on chains (batched products, the softmax in place) and on products; squares by the `cblas_sgemm` of its wheel, from C."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import Contender, Peer

SYMBOL = "scipy_cblas_sgemm64_"
"""In `numpy.libs`: 64-bit extents, and names of its own so that it can share a process with another OpenBLAS."""


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
    out = aligned(case.result_shape)
    if case.shape.is_square:
        runs = call_loops.executions(case.flops)
        loop = call_loops.cblas_sgemm_64(getattr(_openblas(), SYMBOL), a, b, out)
        yield Contender("numpy (cblas)", lambda: loop(runs), lambda: out, runs)
    else:
        yield Contender("numpy", lambda: np.matmul(a, b, out=out), lambda: out)


def _openblas() -> ctypes.CDLL:
    libraries = sorted(Path(np.__file__).parent.parent.joinpath("numpy.libs").glob("libscipy_openblas64_*"))
    if not libraries:
        raise FileNotFoundError("this NumPy does not come with the OpenBLAS of its wheels")
    return ctypes.CDLL(str(libraries[0]))


PREPACKED_NOTE = "as any other operand"
PEERS: dict[str, Peer[Any]] = {
    "chains": Peer("numpy", ("numpy",), chain, "results and scores in arrays made ahead", PREPACKED_NOTE),
    "gemm": Peer(
        "numpy",
        ("numpy",),
        product,
        "the result in an array made ahead; squares: cblas_sgemm of its OpenBLAS in a loop in C",
        PREPACKED_NOTE,
    ),
}
