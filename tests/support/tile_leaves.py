"""Leaves of block programs, computed by their tile programs in NumPy beside what their operators mean: no compiler is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np

from tilewright.block.integers import evaluated
from tilewright.block.interpreter import Thread
from tilewright.block.statements import Leaf
from tilewright.errors import InternalError
from tilewright.graph.exactness import HALVES, INTEGERS
from tilewright.graph.types import element_bytes
from tilewright.leaves.declaration import CALLER, LoweredTile, PlaceArgument, TileArgument
from tilewright.leaves.registry import lowered
from tilewright.leaves.tile_programs.arguments import Arguments
from tilewright.leaves.tile_programs.gathers import LOOKUPS_BEFORE
from tilewright.tile.interpreter import Interpreted
from tilewright.tile.types import element_type
from tilewright.tile.verifier import verify

Array = np.ndarray[Any, np.dtype[Any]]
Reports = list[tuple[Any, ...]]
ROUNDINGS = 16
"""Of a map: of its functions, whose errors are a few, and of its operations."""


@contextmanager
def by_tile_programs() -> Iterator[list[LoweredTile]]:
    """Inside, every leaf that lowers to a tile program is computed by it, and compared with the meaning of its operator.

    The programs are handed out. All accesses are checked; a report of a position raises `IndexError`.
    """
    by_meaning, found = Thread._compute, list[LoweredTile]()

    def compute(thread: Thread, leaf: Leaf) -> None:
        with mock.patch.object(Arguments, "begins_at_view", return_value=False):
            program = lowered(leaf)
        if not isinstance(program, LoweredTile):
            by_meaning(thread, leaf)
            return
        written, owns = thread.memory[leaf.write.buffer], []
        before = written.copy()
        for one in filter(None, (program, program.of_dots)):
            found.append(one)
            _run(thread, one)
            owns.append(written.view(leaf.write.dtype).copy())
            written[...] = before
        by_meaning(thread, leaf)
        for own in owns:
            _compare(own, written.view(leaf.write.dtype), _steps(leaf, thread), leaf)

    with mock.patch.object(Thread, "_compute", compute):
        yield found


def _run(thread: Thread, program: LoweredTile) -> None:
    reports: Reports = []
    functions = {helper.name: lambda *told: reports.append(told) for helper in program.helpers}
    verify(program.program)
    Interpreted(program.program, functions=functions)(*(_passed(thread, argument) for argument in program.arguments))
    if reports:
        raise IndexError(reports[0])


def _passed(thread: Thread, argument: TileArgument) -> Array | int:
    if isinstance(argument, PlaceArgument):
        size_bytes, elements = element_bytes(argument.dtype), thread.memory[argument.buffer]
        kind = element_type(argument.dtype)
        assert argument.offset == 0
        return elements[: elements.size // size_bytes * size_bytes].view("uint16" if kind == "bfloat16" else kind)
    if argument is CALLER:
        return np.zeros(1, np.int8)
    return evaluated(argument, {**thread.values, LOOKUPS_BEFORE: 0})


def _compare(own: Array, wanted: Array, steps: int, leaf: Leaf) -> None:
    """Sums of so many steps differ by roundings of terms that may be as large as the largest result."""
    a, b = own.astype(np.longdouble), wanted.astype(np.longdouble)
    largest = max(1.0, np.abs(b, where=np.isfinite(b), out=np.zeros_like(b)).max(initial=0)) if steps > 1 else 1.0
    rtol = _tolerance(leaf, steps)
    if not np.allclose(a, b, rtol=rtol, atol=rtol * largest, equal_nan=True):
        raise InternalError(f"{leaf.note} of {leaf.computed_type} differs: {a[a != b][:4]}, {b[a != b][:4]}")


def _tolerance(leaf: Leaf, steps: int) -> float:
    """Roundings of functions and of the steps of a sum, and one of a half that is stored."""
    if leaf.computed_type in INTEGERS:
        return 0.0
    stored = _rounding(leaf.write.dtype) if leaf.write.dtype in HALVES else 0.0
    return (ROUNDINGS + steps) * _rounding(leaf.computed_type) + stored


def _rounding(dtype: str) -> float:
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def _steps(leaf: Leaf, thread: Thread) -> int:
    reduced = {axis.name for axis in leaf.operator.reduction_axes()}
    return prod(evaluated(size.size, thread.values) for name, size in leaf.box if name in reduced)
