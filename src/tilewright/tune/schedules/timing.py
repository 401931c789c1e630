"""Many plans of one graph, compiled a dozen to a library, checked against NumPy and timed in turns."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tilewright.artifact import Artifact
from tilewright.backends import backend
from tilewright.dtypes import dtype_named
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.plan.types import ModelPlan, Plan
from tilewright.records import record
from tilewright.render.c.library import emit_file
from tilewright.render.c.program import c_file, lower_program
from tilewright.runtime import calibration, measurement
from tilewright.runtime.arrays import Array
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.executable import Executable, load_from
from tilewright.runtime.measurement import Measurer
from tilewright.runtime.memory import new_result
from tilewright.tune.schedules.chain_case import Problem
from tilewright.tune.timing import seconds_per_call

PLANS_PER_LIBRARY = 12
COMPILERS = 2
"""Compiler processes at a time."""
TOLERANCE = 1e-4
"""Of the largest error over the largest result, as in `tilewright_bench.cases`."""
TURN_S = 1e-3
"""A turn lasts at least this long, and one call."""
PEAK_SAMPLE_S = 5e-3
SETTLE_S = 2e-2


@record
class Timed:
    """Seconds of a call of each plan: by round, in which everyone has a turn. And the peak of one core meanwhile."""

    rounds: tuple[tuple[float, ...], ...]
    peak_flops_per_s: float

    def median_s(self, plan: int) -> float:
        """Over the rounds."""
        return median(times[plan] for times in self.rounds)

    def least_s(self, plan: int) -> float:
        """What other users of the machine disturbed least."""
        return min(times[plan] for times in self.rounds)


@record
class Runnable:
    """A compiled plan with its arguments; `result` has what the last call computed."""

    executable: backend.Runnable
    inputs: tuple[np.ndarray[Any, Any], ...]
    result: np.ndarray[Any, Any]

    def __call__(self) -> None:
        self.executable.run(self.inputs, (self.result,))

    def seconds(self, turn_s: float = TURN_S) -> float:
        """Of one call, in a turn."""
        return seconds_per_call(self, turn_s)


def compiled(case: Problem, plans: Sequence[Plan], directory: Path) -> list[Runnable]:
    """Plans of the whole case, loaded, for one thread; they share inputs and output. Libraries lie in `directory`."""
    return compiled_models(case, [ModelPlan(case.graph, (plan,), ()) for plan in plans], directory)


def compiled_models(case: Problem, plans: Sequence[ModelPlan], directory: Path) -> list[Runnable]:
    """As `compiled`, of plans that may have several chains each."""
    groups = [plans[i : i + PLANS_PER_LIBRARY] for i in range(0, len(plans), PLANS_PER_LIBRARY)]
    paths = [directory / f"{number}.so" for number in range(len(groups))]
    result = result_of(plans[0], case)
    with ThreadPoolExecutor(COMPILERS) as pool:
        libraries = zip(pool.map(library, groups, paths), groups, paths, strict=True)
        executables = [one for made in libraries for one in loaded(*made)]
    return [Runnable(one, (*case.inputs, *read_by(one, model)), result) for one, model in zip(executables, plans, strict=True)]


def read_by(executable: backend.Runnable, model: ModelPlan) -> tuple[np.ndarray[Any, Any], ...]:
    """The constants that calls are given behind the inputs, of a model whose constants are all given."""
    values = dict(model.graph.constants)
    return tuple(values[slot.name].array for slot in executable.signature.inputs[len(model.graph.inputs) :])


def result_of(model: ModelPlan, case: Problem) -> Array:
    """Memory for the result, of the element type that the graph gives it."""
    (name,) = model.graph.outputs
    return new_result(case.reference.shape, dtype_named(model.graph.tensor(name).dtype))


def spoil(result: Array) -> None:
    """Fill a result with what a plan that does not write it would be found out by: NaN, of integers the least.

    >>> result = np.zeros(2, np.int32)
    >>> spoil(result)
    >>> result.tolist()
    [-2147483648, -2147483648]
    """
    result.fill(np.iinfo(result.dtype).min if result.dtype.kind in "iu" else np.nan)


def wrong(case: Problem, runnables: Sequence[Runnable]) -> dict[int, float]:
    """The relative errors of those whose result is not the reference, by position; each is called once."""
    errors = {}
    for i, runnable in enumerate(runnables):
        spoil(runnable.result)
        runnable()
        errors[i] = case.error(runnable.result)
    return {i: error for i, error in errors.items() if error > TOLERANCE}


def timed(runnables: Sequence[Runnable], rounds: int, turn_s: float = TURN_S) -> Timed:
    """Time all plans in turns. The peak is the larger of those before and after: right behind it the next plan is slow."""
    before = peak_flops_per_s()
    runnables[-1].seconds(SETTLE_S)
    times = tuple(tuple(runnable.seconds(turn_s) for runnable in runnables) for _ in range(rounds))
    return Timed(times, max(before, peak_flops_per_s()))


def peak_flops_per_s() -> float:
    """Of one core at this moment, for float32."""
    return _measurer().peak_flops_per_s("float32", PEAK_SAMPLE_S)


@cache
def _measurer() -> Measurer:
    return measurement.compiled(calibration.ensure())


def artifacts(plans: Sequence[ModelPlan]) -> list[Artifact]:
    """An artifact of each plan, with an entry point of its own."""
    return [_artifact(plan, f"run_{number}") for number, plan in enumerate(plans)]


def _artifact(plan: ModelPlan, entry_point: str) -> Artifact:
    program, architecture = lower_program(plan), plan.machine.architecture
    emitted = emit_file(replace(c_file(program), entry_point=entry_point))
    used = (program.kernels[one.micro_kernel] for chain in plan.plans for one in chain.operators if one.micro_kernel)
    features = program.dialect.features.union(*(kernel.features for kernel in used))
    return Artifact(entry_point, emitted.text, (), architecture, features, program.signature, kernels=emitted.kernels)


def library(plans: Sequence[ModelPlan], path: Path) -> list[Artifact]:
    """Compile plans into the library `path`, which has one entry point for each."""
    first, *others = entries = artifacts(plans)
    files = [KernelSource(SourceKind.C, one.text) for one in others]
    kernels = dict.fromkeys(kernel for one in entries for kernel in one.kernels)
    features = first.features.union(*(one.features for one in others))
    compiled = toolchain.find().compile(first.text, (*files, *kernels), architecture=first.architecture, features=features)
    path.write_bytes(compiled)
    return entries


def loaded(entries: Sequence[Artifact], plans: Sequence[ModelPlan], path: Path) -> list[Executable]:
    """The entry points of the library of some plans, for one thread, with the constants that are packed ahead for each."""
    values = [dict(plan.graph.constants) for plan in plans]
    packed = [
        [known[slot.name].array for slot in entry.signature.constants] for entry, known in zip(entries, values, strict=True)
    ]
    return [load_from(path, entry, threads=1, constants=own) for entry, own in zip(entries, packed, strict=True)]
