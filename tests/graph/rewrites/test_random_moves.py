"""Rewrites keep what random graphs of moved elements mean, whoever else reads a tensor."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random.moves import RandomMoves
from tilewright.compiler import PLANNING_FORMS, REWRITES
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify


def check(moves: RandomMoves, graph: Graph) -> None:
    expected = moves.expected(graph)
    for one in (None, *REWRITES, *PLANNING_FORMS):
        before, graph = graph, graph if one is None else one.run(graph)
        verify(graph)
        if one is None or graph is not before:
            for found, wanted in zip(evaluate(graph, moves.inputs).values(), expected.values(), strict=True):
                np.testing.assert_array_equal(found, wanted, f"after {one}", strict=True)


@settings(max_examples=50)
@given(st.randoms(use_true_random=False), st.integers(1, 2), st.integers(1, 10))
def test_every_rewrite_keeps_the_meaning(random: Random, inputs: int, steps: int) -> None:
    moves = RandomMoves(random)
    check(moves, moves.graph(inputs, steps))
