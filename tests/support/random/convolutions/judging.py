"""What becomes of a program: its result beside those of onnxruntime and of NumPy, node by node."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime

import tilewright.onnx as ort
from tests.support.algorithms import drawn, forced
from tests.support.guarded import GuardedMemory
from tests.support.random.convolutions.program import ANY, Array, Convolution
from tests.support.sweeps import EQUAL, SKIPPED, WRONG, Outcome, judged
from tilewright.machine import Machine
from tilewright.runtime import artifacts
from tilewright_bench.cases.model import in_numpy

TOLERANCE = {"strict": 1e-5, "float32": 1e-5, "fast": 1e-4}
"""Of the largest element that is finite."""


def outcome(program: Convolution) -> Outcome:
    """Right by both; a program whose references differ is skipped."""
    return judged(lambda: _compared(program))


def computed(program: Convolution) -> list[Array]:
    """Ours, of operands and in memory beside pages that may not be touched."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = program.threads
    target = Machine.named(program.target) if program.target else None
    with _planned(program):
        session = ort.InferenceSession(program.model(), options, target=target, precision=program.precision)
        feeds = {name: guarded(array, at_end=program.seed % 3 != 0) for name, array in program.feeds().items()}
        results: list[Array] = session.run(None, feeds)
        outputs = [guarded(np.zeros_like(one), at_end=program.seed % 3 != 0) for one in results]
        placed: list[Array] = session.run_into(dict(zip(("y", "z"), outputs, strict=False)), feeds)
    return placed


def guarded(array: Array, *, at_end: bool) -> Array:
    """A copy beside a page that may not be touched."""
    placed = GuardedMemory(array.nbytes).place(array.size, at_end=at_end, dtype=array.dtype).reshape(array.shape)
    placed[...] = array
    return placed


@contextmanager
def _planned(program: Convolution) -> Iterator[None]:
    if not program.algorithm:
        yield
        return
    with drawn(program.seed) if program.algorithm == ANY else forced(program.algorithm), artifacts.ignored():
        yield


def _compared(program: Convolution) -> Outcome:
    with np.errstate(all="ignore"):
        wanted = interpreted(program)
        if problem := differences(computed(program), wanted, TOLERANCE[program.precision]):
            return Outcome(WRONG, problem)
        if not program.special and (problem := differences(by_onnxruntime(program), wanted, TOLERANCE["fast"])):
            return Outcome(SKIPPED, f"onnxruntime differs from NumPy: {problem}")
    return Outcome(EQUAL)


def interpreted(program: Convolution) -> list[Array]:
    """By reference implementations of the nodes."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "convolution.onnx")
        path.write_bytes(program.model())
        return [np.asarray(one) for one in in_numpy(path, program.feeds())]


def by_onnxruntime(program: Convolution) -> list[Array]:
    """On one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(program.model(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(one) for one in session.run(None, program.feeds())]


def differences(results: Sequence[Array], wanted: Sequence[Array], tolerance: float) -> str:
    """How the first wrong one is wrong."""
    return next((told for pair in zip(results, wanted, strict=True) if (told := difference(*pair, tolerance))), "")


def difference(result: Array, wanted: Array, tolerance: float) -> str:
    """How a result is wrong: its shape, where it is infinite or NaN, or by how much it is off; nothing if it is right."""
    if result.shape != wanted.shape or result.dtype != wanted.dtype:
        return f"{result.dtype}{result.shape} is not {wanted.dtype}{wanted.shape}"
    finite = np.isfinite(wanted)
    same = np.array_equal(result[~finite], wanted[~finite], equal_nan=True)
    if not same or not np.isfinite(result[finite]).all():
        mine = np.isfinite(result)
        return f"not finite: {int((~mine).sum())} of {mine.size} elements, {int((~finite).sum())} wanted, or of another kind"
    scale = float(np.abs(wanted[finite]).max(initial=0.0))
    apart = float(np.abs(result[finite].astype(np.float64) - wanted[finite]).max(initial=0.0))
    return "" if apart <= tolerance * scale else f"off by {apart:.3g} of {scale:.3g}"


def shrunk(program: Convolution, cause: str, judge: Callable[[Convolution], Outcome]) -> Convolution:
    """The smallest program found that fails for the same cause."""
    progress = True
    while progress:
        progress = False
        for smaller in simpler(program):
            if smaller.is_right and judge(smaller).cause == cause:
                program, progress = smaller, True
                break
    return program


def simpler(program: Convolution) -> Iterator[Convolution]:
    """One step simpler each, the largest steps first."""
    for name in ("prologue", "epilogue"):
        parts = getattr(program, name)
        yield from (replace(program, **{name: parts[:n] + parts[n + 1 :]}) for n in range(len(parts)))
    plain = {"has_bias": False, "is_channels_last": False, "special": "", "target": "", "threads": 1, "batch": 1, "groups": 1}
    plain |= {
        "has_constant_filters": True,
        "precision": "float32",
        "output_padding": (),
        "algorithm": "",
        "dynamic": (),
        "has_two_readers": False,
    }
    yield from (replace(program, **{name: value}) for name, value in plain.items() if getattr(program, name) != value)
    for name in ("channels", "filters"):
        size = getattr(program, name)
        for fewer in (program.groups, size // 2 // program.groups * program.groups, size - program.groups):
            if 0 < fewer < size:
                yield replace(program, **{name: fewer})
    for name, least in (("image", 1), ("kernel", 1), ("stride", 1), ("dilation", 1), ("begin", 0), ("end", 0)):
        extents = getattr(program, name)
        for axis, size in enumerate(extents):
            for fewer in dict.fromkeys((least, (size + least) // 2, size - 1)):
                if least <= fewer < size:
                    yield replace(program, **{name: (*extents[:axis], fewer, *extents[axis + 1 :])})
