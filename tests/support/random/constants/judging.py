"""What becomes of a program when small constants are not computed while it is imported: they take the way of large ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tests.support.random.onnx import judging
from tests.support.random.onnx.program import Program
from tests.support.sweeps import Outcome
from tilewright.frontend.onnx import stage
from tilewright.frontend.onnx.operators.generator import generators

FOLDED = 8
"""Elements up to which import computes: shapes, axes and the like."""


@contextmanager
def little_folded() -> Iterator[None]:
    """Import computes and stores hardly anything."""
    with ExitStack() as patched:
        for module, name in ((stage, "MOST_FOLDED"), (generators, "SMALL")):
            patched.enter_context(patch.object(module, name, FOLDED))
        yield


def outcome(program: Program) -> Outcome:
    """Compiled once, and run for every size of the batch, and for the first once more."""
    with little_folded():
        return judging.outcome(program)


def explained(program: Program, found: Outcome) -> tuple[Outcome, str]:
    """The outcome of a shrunk program, and its text; it is no failure of ours where ONNX's reference says what we say."""
    with little_folded():
        return judging.explained(program, found)
