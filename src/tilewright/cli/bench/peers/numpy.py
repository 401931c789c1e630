"""NumPy: two batched products (its BLAS), the softmax in place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.cli.bench.cases import ChainCase, aligned
from tilewright.cli.bench.contender import Contender, Peer


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
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


PEER = Peer("numpy", ("numpy",), prepare, "results and scores in arrays made ahead", prepacked_note="as any other operand")
