"""Tilewright's kernel of a graph in a loop in C, and its session of a model of one node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright import compiler
from tilewright.backends import loading
from tilewright.errors import InternalError
from tilewright.graph.types import Graph
from tilewright.plan.types import ModelPlan
from tilewright.runtime import calibration
from tilewright_bench.cases.case import aligned_of
from tilewright_bench.cases.product_case import OneNodeCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender

Array = np.ndarray[Any, np.dtype[Any]]
IN_A_LOOP = "the kernel, in a loop in C"


def of_graph(graph: Graph, a: Array, out: Array, threads: int) -> Callable[[int], None]:
    """What computes a graph of one input into a result so many times. Constants are packed here."""
    return _of_plan(compiler.plan(graph, calibration.ensure()), a, out, threads)


def _of_plan(plan: ModelPlan, a: Array, out: Array, threads: int) -> Callable[[int], None]:
    given = replace(plan.graph, constants=plan.given)
    executable, constants = loading.load(compiler.generate(plan), given, plan.machine, threads=threads)
    return lambda count: executable.run_repeatedly(count, (a, *constants), (out,))


def of_model(case: OneNodeCase, threads: int) -> Contender:
    """The kernel that a session makes of a model of one node, in a loop in C. Raises `InternalError` where there is no such."""
    import tilewright.onnx as ort

    plans = ort.InferenceSession(case.model, prepare=False).model_plans()
    if len(plans) != 1:
        raise InternalError(f"a model of one node became {len(plans)} graphs")
    runs = call_loops.executions(case.flops)
    out = aligned_of(case.result_shape, np.dtype(case.result_type))
    run = _of_plan(plans[0], case.operands[0], out, threads)
    return Contender(TILEWRIGHT, lambda: run(runs), lambda: out, runs, note=IN_A_LOOP)


def session(case: OneNodeCase, threads: int) -> Contender:
    """Called from Python, input and output bound."""
    import tilewright.onnx as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    made = ort.InferenceSession(case.model, options)
    binding, out = made.io_binding(), ort.OrtValue.ortvalue_from_shape_and_type(case.result_shape, case.result_type)
    binding.bind_ortvalue_input("a", ort.OrtValue.ortvalue_from_numpy(case.operands[0]))
    binding.bind_ortvalue_output("c", out)
    return Contender(f"{TILEWRIGHT} session", lambda: made.run_with_iobinding(binding), out.numpy)
