"""What becomes of a program: its results beside onnxruntime's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import tilewright.onnx as ort
from onnx.reference import ReferenceEvaluator
from tests.support.random.onnx.growing import UNIT_ROUNDOFF
from tests.support.random.onnx.program import Program, Value
from tests.support.sweeps import EQUAL, SKIPPED, WRONG, Outcome, described, judged
from tilewright.machine import Machine

SPREADS = 4.0
"""Results may be off by so many times what other roundings, of `growing.NOISE`, change."""


def outcome(program: Program) -> Outcome:
    """Compiled once, and run for every size of the batch, and for the first once more."""
    return judged(lambda: _compared(program))


def _compared(program: Program) -> Outcome:
    options = ort.SessionOptions()
    options.intra_op_num_threads = program.threads
    session = ort.InferenceSession(program.model(), options, target=Machine.named(program.target))
    for batch in (*program.batches, 0):
        results = session.run(list(program.outputs), program.feeds(batch))
        for name, result in zip(program.outputs, results, strict=True):
            problem = difference(result, program.values[name], batch)
            if problem:
                return Outcome(WRONG, f"{name}: {problem}")
    return Outcome(EQUAL, as_numpy=tuple(session.numpy_operators))


def explained(program: Program, found: Outcome) -> tuple[Outcome, str]:
    """The outcome of a shrunk program, and its text; it is no failure of ours where ONNX's reference says what we say."""
    if found.kind == WRONG and agrees_with_reference(program):
        found = Outcome(SKIPPED, f"onnxruntime differs from ONNX's reference: {program.nodes[-1].op_type}")
    return described(program, found)


def agrees_with_reference(program: Program) -> bool:
    """Whether ONNX's reference evaluator computes what we do."""
    try:
        reference = ReferenceEvaluator(program.model())
        wanted = [reference.run(None, program.feeds(batch)) for batch in program.batches]
    except Exception:
        return False
    values = dict(program.values)
    for number, name in enumerate(program.outputs):
        values[name] = replace(program.values[name], arrays=tuple(np.asarray(one[number]) for one in wanted))
    return outcome(replace(program, values=values)).kind == EQUAL


def difference(result: np.ndarray, value: Value, batch: int) -> str:
    """How a result is wrong; nothing if it is not."""
    wanted = value.arrays[batch]
    if (result.dtype, result.shape) != (wanted.dtype, wanted.shape):
        return f"{result.dtype}{result.shape} is not {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind != "f":
        count = int((result != wanted).sum())
        return f"{count} of {wanted.size} elements differ" if count else ""
    allowed = tolerance(value, batch)
    wrong = ~np.isclose(result, wanted, rtol=0, atol=allowed, equal_nan=True)
    if not wrong.any():
        return ""
    with np.errstate(invalid="ignore"):
        apart = np.abs(result.astype(np.float64) - wanted)[wrong].max()
    scale = np.abs(wanted).max()
    return f"{wrong.sum()} of {wanted.size} elements are off, by up to {apart:.3g} of {scale:.3g}; {allowed:.1e} are allowed"


def tolerance(value: Value, batch: int) -> float:
    """From the accumulation lengths, functions and ranges of all that led to the value: see `growing.Growing._rounded`."""
    wanted = value.arrays[batch]
    return SPREADS * value.spread + 2 * UNIT_ROUNDOFF * float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted)))
