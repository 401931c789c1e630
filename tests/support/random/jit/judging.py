"""What becomes of a program: its results beside NumPy's in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import tilewright as tw
from tests.support.random.jit.program import Program, Value
from tests.support.sweeps import EQUAL, WRONG, Outcome, judged
from tilewright.errors import InternalError, is_bug

SPREADS = 16.0
"""Results may be off by so many times what other roundings change."""
UNIT_ROUNDOFF = 2.0**-24
ROUNDING_OF_DOUBLES = 2.0**-53 / UNIT_ROUNDOFF
DOUBLE_SEEDS = 3
"""Of so many programs one runs in float64, too."""
DYNAMIC_SEEDS = 4
"""Of so many programs one runs with every extent above 1 known at run time only, too."""
ROUNDINGS = 32
"""Of the largest element, in units in the last place: functions of many steps promise a relative error of 1e-6."""


def outcome(program: Program) -> Outcome:
    """Compiled, run, and compared."""
    return judged(lambda: _compared(program))


def _compared(program: Program) -> Outcome:
    found = _in_single(program)
    return _in_double(program) if found.kind == EQUAL and program.seed % DOUBLE_SEEDS == 0 else found


def _in_double(program: Program) -> Outcome:
    """All floating-point arrays are float64; what is chosen among numbers alone is float32."""
    arrays = program.arrays("float64")
    function = program.function(tw, program.constant_arrays("float64"))
    results = tw.jit(function, **program.options)(*arrays)
    for name, result in zip(program.outputs, results, strict=True):
        problem = difference(result, program.values[name], "float32" if result.dtype == np.float32 else "float64")
        if problem:
            return Outcome(WRONG, f"in float64, {name}: {problem}")
    return Outcome(EQUAL)


def _in_single(program: Program) -> Outcome:
    function = program.function(tw, program.constant_arrays())
    arrays = program.arrays()
    kept = [array.copy() for array in arrays]
    results = tw.jit(function, **program.options)(*arrays)
    found = _judged(program, arrays, kept, results)
    if found.kind != EQUAL or program.seed % DYNAMIC_SEEDS:
        return found
    try:
        results = tw.jit(function, **{**program.options, "dynamic": True})(*arrays)
    except Exception as problem:
        if is_bug(problem) or isinstance(problem, InternalError):
            raise
        return found  # refused for extents that have no values while the program is traced
    dynamic = _judged(program, arrays, kept, results)
    return Outcome(dynamic.kind, f"with dynamic extents, {dynamic.reason}") if dynamic.kind != EQUAL else found


def _judged(program: Program, arrays: Sequence[np.ndarray], kept: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> Outcome:
    if not all(np.array_equal(array, copy) for array, copy in zip(arrays, kept, strict=True)):
        return Outcome(WRONG, "an argument was changed")
    for name, result in zip(program.outputs, results, strict=True):
        problem = difference(result, program.values[name])
        if problem:
            return Outcome(WRONG, f"{name}: {problem}")
    return Outcome(EQUAL)


def difference(result: np.ndarray, value: Value, dtype: str = "float32") -> str:
    """How a result is wrong; nothing if it is not."""
    wanted = value.exact
    if (result.dtype, result.shape) != (np.dtype(dtype), wanted.shape):
        return f"{result.dtype}{result.shape} is not {dtype}{wanted.shape}"
    allowed = SPREADS * value.spread + ROUNDINGS * UNIT_ROUNDOFF * float(np.abs(wanted).max(initial=0.0))
    allowed *= ROUNDING_OF_DOUBLES if dtype == "float64" else 1
    apart = np.abs(result.astype(np.float64) - wanted)
    wrong = ~(apart <= allowed)
    return (
        f"{wrong.sum()} of {wanted.size} elements are off, by up to {apart[wrong].max():.3g}; {allowed:.1e} are allowed"
        if wrong.any()
        else ""
    )
