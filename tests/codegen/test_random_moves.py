"""Random graphs of moved elements by generated code, with arguments that end, or begin, where memory may not be touched."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.support.guarded import GuardedMemory, in_child
from tests.support.random.moves import MovedBits, RandomMoves
from tests.support.recipes import made_of
from tilewright import compiler
from tilewright.graph.numpy_types import widened
from tilewright.machine import Machine

FORCED = (None, True, False)


def check(seed: int) -> None:
    """The same values as by NumPy, those of every fourth graph of any bits."""
    random = Random(seed)
    moves = MovedBits(random) if seed % 4 == 3 else RandomMoves(random)
    graph = moves.graph(random.randint(1, 2), random.randint(2, 12))
    planned = compiler.plan(graph, Machine.named("x86-64-v3"), fuse=FORCED[seed % 3])
    executable = compiler.build(planned, threads=1 + seed % 2)
    constants = made_of(executable.origin.artifact.recipe, graph.constants)
    for at_end in (False, True):
        known = constants | {name: _placed(value, at_end) for name, value in moves.inputs.items()}
        inputs = [known[slot.name] for slot in executable.signature.inputs]
        outputs = executable.new_outputs(inputs)
        executable.run(inputs, outputs)
        for found, wanted in zip(outputs, moves.expected(graph).values(), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(widened(found), widened(wanted), f"seed {seed}", strict=True)


def _placed(value: np.ndarray, at_end: bool) -> np.ndarray:
    place = GuardedMemory(value.nbytes).place(value.size, at_end=at_end, dtype=value.dtype).reshape(value.shape)
    place[:] = value
    return place


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", range(24))
def test_elements_are_moved_to_where_they_belong(seed: int) -> None:
    in_child(check, seed)
