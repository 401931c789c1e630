"""Tilewright itself: the kernel of a product; for squares its entry point, called in C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import compiler
from tilewright.cli.bench import call_loops
from tilewright.cli.bench.cases import FloatArray, GemmCase, aligned
from tilewright.cli.bench.contender import OWN, Contender, Peer
from tilewright.plan.types import ModelPlan
from tilewright.runtime import native
from tilewright.runtime.executable import Executable


def prepare(case: GemmCase, threads: int) -> Iterator[Contender]:
    """The kernel that `tw.jit` makes."""
    given = case.operands[:1] if case.prepacked else case.operands
    lowered = tw.jit(_with_constant(case.operands[1]) if case.prepacked else gemm, threads=threads).lower(*given)
    out = aligned(case.reference.shape)
    if case.shape.is_square:
        runs = call_loops.executions(case)
        loop = _loop(lowered.model_plan, threads, given, out)
        yield Contender(OWN, lambda: loop(runs), lambda: out, runs)
    else:
        kernel = lowered.compile()
        yield Contender(OWN, lambda: kernel(*given, out=out), lambda: out)


def gemm(a: Any, b: Any) -> Any:
    """c = a b; a (m, k), b (k, n)."""
    return tw.einsum("mk,kn->mn", a, b)


def _with_constant(b: FloatArray) -> Callable[[Any], Any]:
    """An array that a jitted function closes over is a constant of its kernel."""

    def product(a: Any) -> Any:
        return gemm(a, b)

    return product


def _loop(model_plan: ModelPlan, threads: int, given: tuple[FloatArray, ...], out: FloatArray) -> call_loops.Loop:
    """Around the entry point, with all that the launcher prepares for a call prepared once."""
    executable = compiler.build(model_plan, threads=threads)
    arrays = (*given, *(constant.array for _, constant in model_plan.graph.constants), out)
    sizes = _longs([stride // array.itemsize for array in arrays for stride in array.strides])
    tensors = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    workspace = _workspace(executable, sizes)
    runtime = native.library()
    functions = [ctypes.cast(f, ctypes.c_void_p) for f in (runtime.tw_pool_enter, runtime.tw_parallel_for)]
    entry = ctypes.cast(_function(executable, ""), ctypes.c_void_p)
    pool = ctypes.c_void_p(executable.pool.address)
    run = call_loops.call("loop_kernel", entry, *functions, pool, tensors, sizes, ctypes.c_void_p(workspace.ctypes.data))
    return lambda count: (run(count), executable, arrays, workspace)[0]


def _workspace(executable: Executable, sizes: ctypes.Array[ctypes.c_long]) -> np.ndarray[Any, Any]:
    needed = _function(executable, "_workspace_bytes")
    needed.restype = ctypes.c_long
    return aligned((needed(sizes) // 4 + 1,))


def _function(executable: Executable, suffix: str) -> Any:
    return getattr(ctypes.CDLL(str(executable.path)), executable.artifact.entry_point + suffix)


def _longs(values: list[int]) -> ctypes.Array[ctypes.c_long]:
    return (ctypes.c_long * len(values))(*values)


PEER = Peer(
    OWN,
    (),
    prepare,
    "packs its operands inside the measured call; squares: the entry point in a loop in C",
    prepacked_note="a NumPy array that the jitted function closes over",
)
