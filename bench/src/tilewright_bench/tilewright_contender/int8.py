"""Tilewright on products of bytes: the kernel in a loop in C, a session of MatMulInteger, and the product of floats beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.types import Graph
from tilewright_bench.cases.case import aligned_of
from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer
from tilewright_bench.tilewright_contender import loops

Array = np.ndarray[Any, np.dtype[Any]]


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """Weights are packed before anything is measured."""
    a, b = case.operands
    runs = call_loops.executions(case.flops)
    result, floats = (aligned_of(case.result_shape, np.dtype(name)) for name in ("int32", "float32"))
    run = loops.of_graph(_bytes(case), a, result, threads)
    yield Contender(TILEWRIGHT, lambda: run(runs), lambda: result, runs, note=loops.IN_A_LOOP)
    yield loops.session(case, threads)
    if not case.prepacked:
        return
    centred = a.astype(np.float32) - np.float32(ZERO)
    run_floats = loops.of_graph(_floats(case, b.astype(np.float32)), centred, floats, threads)
    yield Contender(
        f"{TILEWRIGHT} float32", lambda: run_floats(runs), lambda: floats, runs, note="centred floats, in a loop in C"
    )


def _bytes(case: Int8Case) -> Graph:
    """The product of bytes less the zero point."""
    builder = Builder("product")
    a = builder.input("a", case.operands[0].shape, "uint8")
    zero = builder.constant(np.array(ZERO, np.uint8), "zero")
    c = builder.record(integer_matmul, a, builder.constant(case.operands[1], "b"), zero, None, kind="matmul")
    return builder.graph((c.name,))


def _floats(case: Int8Case, b: Array) -> Graph:
    """The same of floats."""
    builder = Builder("product")
    a = builder.input("a", case.operands[0].shape, "float32")
    return builder.graph((builder.matmul(a, builder.constant(b, "b")).name,))


PEER = Peer(
    TILEWRIGHT,
    ("onnx",),
    prepare,
    "the kernel in a loop in C; a session of MatMulInteger, input and output bound; and the same product of floats",
    may_fail=False,
)
