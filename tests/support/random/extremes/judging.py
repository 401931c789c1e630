"""What becomes of a program: its results beside NumPy's, or, of what no memory holds, that it has a plan."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np

import tilewright as tw
from tests.support.random.extremes.program import Program
from tests.support.sweeps import EQUAL, SKIPPED, WRONG, Outcome, judged
from tilewright.errors import PlanningError

TARGET = "x86-64-v2"
TOLERANCE = 1e-4
"""Of deep programs, whose roundings add up: their steps do not enlarge errors."""


def outcome(program: Program) -> Outcome:
    """Compiled, run, and compared."""
    return judged(lambda: _planned(program) if program.is_planned_only else _compared(program))


def _planned(program: Program) -> Outcome:
    try:
        plans = tw.jit(program.function(tw), target=TARGET).lower(*map(tw.spec, program.shapes)).model_plan.plans
    except PlanningError as problem:
        return Outcome(EQUAL) if " are planned" in problem.why else _wrong(f"refused for another reason: {problem}")
    seconds = [plan.price.seconds for plan in plans]
    if not plans or not all(math.isfinite(price) and price > 0 for price in seconds):
        return _wrong(f"prices of {seconds} seconds")
    return Outcome(EQUAL)


def _compared(program: Program) -> Outcome:
    arrays = program.arrays()
    results = tw.jit(program.function(tw), target=TARGET)(*arrays)
    expected = program.function(NUMPY)(*(array.astype(np.float64) for array in arrays))
    for number, (result, wanted) in enumerate(zip(_listed(results), _listed(expected), strict=True)):
        if np.shape(result) != np.shape(wanted):
            return _wrong(f"result {number} has shape {np.shape(result)} instead of {np.shape(wanted)}")
        if np.max(np.abs(wanted), initial=0.0) > np.finfo(np.float32).max:
            return Outcome(SKIPPED, "float32 does not hold the result")
        apart = float(np.max(np.abs(np.asarray(result, np.float64) - wanted), initial=0.0))
        if not apart <= TOLERANCE * (1.0 + float(np.max(np.abs(wanted), initial=0.0))):
            return _wrong(f"result {number} is off by {apart:.3g}")
    return Outcome(EQUAL)


def _wrong(reason: str) -> Outcome:
    return Outcome(WRONG, reason)


def _listed(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _softmax(x: Any, axis: int) -> Any:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


NUMPY = types.SimpleNamespace(
    **{name: getattr(np, name) for name in ("tanh", "maximum", "minimum", "where", "abs", "reshape", "max", "sum", "mean")},
    permute_dims=np.transpose,
    matrix_transpose=lambda x: np.swapaxes(x, -1, -2),
    softmax=_softmax,
)
"""The functions of programs in float64."""
