"""Tilewright on products as models of one node, the kernel in a loop in C and a session, and on 16-bit integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright_bench.cases.case import aligned_of
from tilewright_bench.cases.int16 import Int16Case
from tilewright_bench.cases.product_case import OneNodeCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer
from tilewright_bench.tilewright_contender import loops


def model(case: OneNodeCase, threads: int) -> Iterator[Contender]:
    """Weights are packed before anything is measured, here and below."""
    yield loops.of_model(case, threads)
    yield loops.session(case, threads)


def words(case: Int16Case, threads: int) -> Iterator[Contender]:
    """A graph of its own: no operator of ONNX multiplies 16-bit integers that this imports."""
    a, b = case.operands
    builder = Builder("product")
    left = builder.input("a", a.shape, "int16")
    c = builder.record(integer_matmul, left, builder.constant(b, "b"), None, None, kind="matmul")
    runs, out = call_loops.executions(case.flops), aligned_of(case.result_shape, np.dtype(np.int32))
    run = loops.of_graph(builder.graph((c.name,)), a, out, threads)
    yield Contender(TILEWRIGHT, lambda: run(runs), lambda: out, runs, note=loops.IN_A_LOOP)


_NOTE = "the kernel in a loop in C; a session of the same operator, input and output bound"
MODEL: Peer[Any] = Peer(TILEWRIGHT, ("onnx",), model, _NOTE, may_fail=False)
WORDS = Peer(TILEWRIGHT, ("onnx",), words, "the kernel in a loop in C", may_fail=False)
