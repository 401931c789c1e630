"""Chains of slices, transposes, reshapes and broadcasts become one index map, which is right at every point."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.indices import by_natural_division
from tests.support.random.moves import VIEWS, Array, RandomMoves
from tilewright.graph.expressions.index import with_natural_dividends
from tilewright.graph.rewrites.fusion.compose import largest_extents
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.rewrites.redundancy import DeadCode


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_a_chain_of_views_is_one_index_map(random: Random, steps: int) -> None:
    moves = RandomMoves(random, VIEWS)
    graph = moves.chain(steps)
    (expected,) = moves.expected(graph).values()
    for operator in DeadCode().run(FoldIndexMaps().run(graph)).operators:  # none where no step could be taken
        (access,) = operator.reads
        extents = largest_extents(operator)
        grids = dict(zip(extents, np.indices(expected.shape, sparse=True), strict=True))
        natural = access.mapped(lambda index, extents=extents: with_natural_dividends(index, extents))  # type: ignore[misc]
        check(moves, expected, [by_natural_division(index, grids) for index in natural.indices])
        check(moves, expected, [index.evaluate(grids) for index in access.indices])


def check(moves: RandomMoves, expected: Array, places: list[Any]) -> None:
    """What stands at these places of the argument is what the chain makes."""
    x = moves.inputs["x"]
    for place, extent in zip(places, x.shape, strict=True):
        assert np.all((place >= 0) & (place < extent))
    np.testing.assert_array_equal(np.broadcast_to(x[tuple(places)], expected.shape), expected)
