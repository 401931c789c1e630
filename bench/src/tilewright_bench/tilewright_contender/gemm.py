"""Tilewright on products: the kernel of each; for squares called in a loop in C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import compiler
from tilewright.backends import loading
from tilewright.backends.backend import Runnable
from tilewright.graph.builders.builder import Builder
from tilewright.plan.types import ModelPlan
from tilewright.runtime import calibration
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: GemmCase, threads: int) -> Iterator[Contender]:
    """The kernel that `tw.jit` makes."""
    given = case.operands[:1] if case.prepacked else case.operands
    lowered = tw.jit(_with_constant(case.operands[1]) if case.prepacked else gemm, threads=threads).lower(*given)
    out = aligned(case.result_shape)
    if case.is_looped:
        runs = call_loops.executions(case.flops)
        executable, inputs = _executable(lowered.model_plan, threads, given)
        yield Contender(TILEWRIGHT, lambda: executable.run_repeatedly(runs, inputs, (out,)), lambda: out, runs)
    else:
        kernel = lowered.compile()
        yield Contender(TILEWRIGHT, lambda: kernel(*given, out=out), lambda: out)


def of_type(case: GemmCase, threads: int) -> Iterator[Contender]:
    """The kernel of a graph, as functions that `tw.jit` compiles compute in float32."""
    builder, (a, b) = Builder("product"), case.operands
    left = builder.input("a", a.shape, case.dtype)
    right = builder.constant(b, "b") if case.prepacked else builder.input("b", b.shape, case.dtype)
    product = builder.einsum("mk,kn->mn", left, right, dtype=case.result_dtype.name)
    out, runs = case.empty_result(), call_loops.executions(case.flops) if case.is_looped else 1
    plan = compiler.plan(builder.graph((product.name,)), calibration.ensure())
    given = replace(plan.graph, constants=plan.given)
    executable, constants = loading.load(compiler.generate(plan), given, plan.machine, threads=threads)
    inputs = (*case.operands[: 2 - case.prepacked], *constants)
    if runs > 1:
        yield Contender(
            TILEWRIGHT, lambda: executable.run_repeatedly(runs, inputs, (out,)), lambda: out, runs, tolerance=case.tolerance
        )
    else:
        yield Contender(TILEWRIGHT, lambda: executable.run(inputs, (out,)), lambda: out, tolerance=case.tolerance)


def gemm(a: Any, b: Any) -> Any:
    """c = a b; a (m, k), b (k, n)."""
    return tw.einsum("mk,kn->mn", a, b)


def _with_constant(b: FloatArray) -> Callable[[Any], Any]:
    """An array that a jitted function closes over is a constant of its kernel."""

    def product(a: Any) -> Any:
        return gemm(a, b)

    return product


def _executable(
    model_plan: ModelPlan, threads: int, given: tuple[FloatArray, ...]
) -> tuple[Runnable, tuple[np.ndarray[Any, Any], ...]]:
    """The kernel below the calling convention of Python, and all arrays that it takes: constants come behind what is given."""
    executable = compiler.build(model_plan, threads=threads)
    values = {name: constant.array for name, constant in model_plan.graph.constants}
    constants = [values[slot.name] for slot in executable.signature.inputs[len(given) :]]
    return executable, (*given, *constants)


PEER = Peer(
    TILEWRIGHT,
    (),
    prepare,
    "packs its operands inside the measured call; squares: in a loop in C",
    prepacked_note="a NumPy array that the jitted function closes over",
    may_fail=False,
)
OF_TYPE = Peer(
    TILEWRIGHT,
    (),
    of_type,
    "the kernel of a graph, which packs its operands inside the measured call; squares of float64: in a loop in C",
    prepacked_note="a constant of the graph",
    may_fail=False,
)
