"""NumPy: `matmul` into an array made ahead; for squares the `cblas_sgemm` of the OpenBLAS in its wheel, called in C."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tilewright.cli.bench import call_loops
from tilewright.cli.bench.cases import GemmCase, aligned
from tilewright.cli.bench.contender import Contender, Peer

SYMBOL = "scipy_cblas_sgemm64_"
"""In `numpy.libs`: 64-bit extents, and names of its own so that it can share a process with another OpenBLAS."""


def prepare(case: GemmCase, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment before NumPy was imported."""
    a, b = case.operands
    out = aligned(case.result_shape)
    if case.shape.is_square:
        runs = call_loops.executions(case)
        loop = call_loops.cblas_sgemm_64(getattr(_openblas(), SYMBOL), a, b, out)
        yield Contender("numpy (cblas)", lambda: loop(runs), lambda: out, runs)
    else:
        yield Contender("numpy", lambda: np.matmul(a, b, out=out), lambda: out)


def _openblas() -> ctypes.CDLL:
    libraries = sorted(Path(np.__file__).parent.parent.joinpath("numpy.libs").glob("libscipy_openblas64_*"))
    if not libraries:
        raise FileNotFoundError("this NumPy does not come with the OpenBLAS of its wheels")
    return ctypes.CDLL(str(libraries[0]))


PEER = Peer(
    "numpy",
    ("numpy",),
    prepare,
    "the result in an array made ahead; squares: cblas_sgemm of its OpenBLAS in a loop in C",
    prepacked_note="as any other operand",
)
