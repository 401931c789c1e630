"""Tilewright on products of bytes: the kernel in a loop in C, a session of MatMulInteger, and the product of floats beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright import compiler
from tilewright.backends import loading
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.integer_matmul import integer_matmul
from tilewright.graph.types import Graph
from tilewright.runtime import calibration
from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer

Array = np.ndarray[Any, np.dtype[Any]]


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """Weights are packed before anything is measured."""
    a, b = case.operands
    runs = call_loops.executions(case.flops)
    result, run = _loop(_bytes(case), a, np.empty(case.result_shape, np.int32), threads)
    yield Contender(TILEWRIGHT, lambda: run(runs), lambda: result, runs, note="the kernel, in a loop in C")
    yield from _session(case, threads)
    centred = a.astype(np.float32) - np.float32(ZERO)
    floats, run_floats = _loop(_floats(case, b.astype(np.float32)), centred, np.empty(case.result_shape, np.float32), threads)
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


def _loop(graph: Graph, a: Array, out: Array, threads: int) -> tuple[Array, Callable[[int], None]]:
    """Where the result lies, and what computes it so many times."""
    plan = compiler.plan(graph, calibration.ensure())
    given = replace(plan.graph, constants=plan.given)
    executable, constants = loading.load(compiler.generate(plan), given, plan.machine, threads=threads)
    return out, lambda count: executable.run_repeatedly(count, (a, *constants), (out,))


def _session(case: Int8Case, threads: int) -> Iterator[Contender]:
    """Called from Python, input and output bound."""
    import tilewright.onnx as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(case.model, options)
    binding, out = session.io_binding(), ort.OrtValue.ortvalue_from_shape_and_type(case.result_shape, np.int32)
    binding.bind_ortvalue_input("a", ort.OrtValue.ortvalue_from_numpy(case.operands[0]))
    binding.bind_ortvalue_output("c", out)
    yield Contender(f"{TILEWRIGHT} session", lambda: session.run_with_iobinding(binding), out.numpy)


PEER = Peer(
    TILEWRIGHT,
    ("onnx",),
    prepare,
    "the kernel in a loop in C; a session of MatMulInteger, input and output bound; and the same product of floats",
    may_fail=False,
)
