"""Programs for GPUs in Triton's interpreter, in a process of its own: there Triton is imported to interpret, not to compile.

What a run has shown comes back as a record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import prod
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilewright as tw
from tests.support.triton_programs import BOUNDS, Program, programs
from tests.support.triton_watch import VERSION, Watch, watching
from tilewright.plan.types import Plan
from tilewright.precision import Precision

PACKAGES = ("triton", "torch")


@dataclass(frozen=True)
class Counts:
    """What one kernel did beside what its plan says."""

    moved: dict[str, int]
    planned: dict[str, int]
    flops: int
    planned_flops: int
    products: int
    guarded: bool


@dataclass(frozen=True)
class Outcome:
    """One run of a program."""

    kind: str
    shapes: tuple[tuple[int, ...], ...]
    error: float
    bound: float
    wild: int
    rewritten: int
    kernels: tuple[Counts, ...]

    def faults(self) -> list[str]:
        """Everything that is wrong, in words."""
        found = [] if self.error <= self.bound else [f"error {self.error:.1e} above {self.bound:.0e}"]
        found += [f"{self.wild} wild addresses"] if self.wild else []
        found += [f"{self.rewritten} elements not written once"] if self.rewritten else []
        for one in self.kernels:
            if one.moved != one.planned:
                found.append(f"bytes {one.moved}, planned {one.planned}")
            if one.flops != one.planned_flops:
                found.append(f"flops {one.flops}, planned {one.planned_flops}")
        return [f"{self.kind} {self.shapes}: {fault}" for fault in found]


def ran(kind: str, seed: int, target: str, mutation: str = "") -> Outcome:
    """Run the program of a kind and a seed for a target; `mutation` is one of `MUTATIONS`."""
    with mutated(mutation):
        return _ran(programs(seed)[kind], seed, target)


def _ran(program: Program, seed: int, target: str) -> Outcome:
    precision = Precision.TF32 if program.dtype == "float32" else Precision.FLOAT32
    specs = [tw.spec(shape, program.dtype) for shape in program.shapes]
    lowered = tw.jit(program.function, target=target, precision=precision).lower(*specs)
    kernel, watches = lowered.compile(runner="interpreter"), list[Watch]()
    arguments = program.arguments(seed)
    kernel._executable.watching = lambda tensors: watching(watches.append(Watch(tensors)) or watches[-1])
    result = np.asarray(kernel(*arguments)).astype(np.float64)
    expected = program.reference(*(x.astype(np.float64) for x in arguments)).astype(np.float64)
    error = float(np.linalg.norm(result - expected) / (np.linalg.norm(expected) or 1.0))
    counts = tuple(_counts(watch, plan) for watch, plan in zip(watches, lowered.model_plan.plans, strict=True))
    wild, rewritten = sum(watch.wild for watch in watches), sum(watch.rewritten for watch in watches)
    return Outcome(program.kind, program.shapes, error, BOUNDS[program.dtype], wild, rewritten, counts)


def _counts(watch: Watch, plan: Plan) -> Counts:
    chain = plan.chain
    products = [part for part in plan.operators if part.leaf is not None and dict(part.leaf.axes).keys() >= {"depth"}]
    flops = 0
    for part in products:
        axes = chain.operator(part.operator).axes
        flops += round(2 * prod(float(axis.extent) for axis in axes) / part.efficiency)  # type: ignore[arg-type]
    guarded = any(read.guard is not None for operator in chain.operators for read in operator.reads)
    planned = {moved.tensor: moved.size_bytes for moved in plan.movements}
    return Counts(watch.moved, planned, watch.flops, flops, len(products), guarded)


@contextmanager
def mutated(mutation: str) -> Iterator[None]:
    """Inside, the renderer has a fault."""
    with ExitStack() as stack:
        if mutation:
            MUTATIONS[mutation](stack)
        yield


def _without_padding(stack: ExitStack) -> None:
    from tilewright.render.triton import memory

    stack.enter_context(patch.object(memory, "guard_tests", lambda *_: []))


def _without_rescaling(stack: ExitStack) -> None:
    from tilewright.render.triton import rows

    stack.enter_context(patch.object(rows, "rescaled", lambda old, factor: old))


def _loading_twice(stack: ExitStack) -> None:
    from tilewright.render.triton.memory import Memory

    load = Memory.load

    def twice(self: Memory, *operands: Any) -> Any:
        load(self, *operands)
        return load(self, *operands)

    stack.enter_context(patch.object(Memory, "load", twice))


MUTATIONS = {
    "padding condition dropped": _without_padding,
    "rescaling dropped": _without_rescaling,
    "load visited twice": _loading_twice,
}


def missing() -> str:
    """What the interpreter's checks lack here; empty where they run."""
    lacking = [name for name in PACKAGES if find_spec(name) is None]
    if lacking:
        return f"without {', '.join(lacking)}: pip install -e '.[gpu]'"
    try:
        found = version("triton")
    except PackageNotFoundError:
        found = "of no known version"
    return "" if found == VERSION else f"what is counted are private names of Triton {VERSION}; here is {found}"


@contextmanager
def interpreting() -> Iterator[ProcessPoolExecutor]:
    """A process whose Triton interprets. Skips, visibly, where there is none."""
    if reason := missing():
        pytest.skip(reason)
    with patch.dict(os.environ, {"TRITON_INTERPRET": "1"}):
        pool = ProcessPoolExecutor(1, get_context("spawn"))
        pool.submit(_quiet).result()
    with pool:
        yield pool


def _quiet() -> None:
    np.seterr(all="ignore")
