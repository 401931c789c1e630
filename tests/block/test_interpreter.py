"""The NumPy interpreter of block programs: random programs against the graph's meaning, and damaged ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.oracles.programs import fused, program
from tests.support.random.planned import outcome
from tests.support.sweeps import EQUAL
from tilewright.block.integers import Variable, VariableKind
from tilewright.block.interpreter import run
from tilewright.block.memory import BufferName
from tilewright.block.program import Region
from tilewright.block.statements import MatrixTiles, Statement
from tilewright.errors import InternalError

EXTENTS, TILES = {"m": 20, "n": 70, "k": 9, "l": 33}, {"m": 8, "n": 64, "k": 4, "l": 16}


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_mean_what_their_graphs_mean(seed: int) -> None:
    """Two of every kind."""
    assert outcome(seed).kind == EQUAL, outcome(seed).reason


def regions() -> tuple[Region, ...]:
    return program(*fused(EXTENTS, TILES)).regions


def computed(nests: tuple[Region, ...], d_elements: int = 33 * 70) -> tuple[np.ndarray, np.ndarray]:
    """E of the program, and as it should be; D may be too short."""
    random = np.random.default_rng(0)
    a, b, d = (random.standard_normal(shape).astype(np.float32) for shape in ((20, 9), (9, 33), (33, 70)))
    e = np.zeros((20, 70), np.float32)
    given = {"A": a, "B": b, "D": d.reshape(-1)[:d_elements], "E": e}
    arrays = {BufferName(tensor): array for tensor, array in given.items()}
    strides = {"A": (9, 1), "B": (33, 1), "D": (70, 1), "E": (70, 1)}
    variables = {
        Variable(VariableKind.STRIDE, name, d): stride for name, pair in strides.items() for d, stride in enumerate(pair)
    }
    run(nests, arrays, variables)
    return e, a @ b @ d


def test_a_fused_chain() -> None:
    found, wanted = computed(regions())
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_windows_that_leave_their_buffer_are_refused() -> None:
    with pytest.raises(InternalError, match="a window leaves D"):
        computed(regions(), 33 * 70 - 1)


def test_what_was_never_written_is_nan() -> None:
    """The first product is left out: what the second reads of it is scratch."""

    def without_scores(node: Statement) -> Iterator[Statement]:
        if not isinstance(node, MatrixTiles) or node.operator.name != "scores":
            yield node

    found, _ = computed(tuple(nest.mapped(without_scores) for nest in regions()))
    assert np.isnan(found).all()


def test_sums_that_are_not_added_up_are_wrong() -> None:
    def anew(node: Statement) -> tuple[Statement, ...]:
        return (replace(node, accumulate=0) if isinstance(node, MatrixTiles) else node,)

    found, wanted = computed(tuple(nest.mapped(anew) for nest in regions()))
    assert not np.allclose(found, wanted, rtol=1e-2)


def test_elements_of_a_line_buffer_that_lie_apart_move_one_by_one() -> None:
    """A result of one column, whose rows are padded: what the block before has left is not contiguous."""
    assert outcome(1215168657).kind == EQUAL
