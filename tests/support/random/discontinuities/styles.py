"""Programs of seeds: their inputs, and the ways in which they are computed."""

from __future__ import annotations

import numpy as np

from tests.support.random.discontinuities.growing import Growing
from tests.support.random.discontinuities.nodes import grow
from tests.support.random.discontinuities.program import Chosen
from tests.support.targets import runnable_targets

SHAPES = ((6, 20), (37,), (3, 5, 8), (1, 3, 6, 7), (2, 4, 5, 5), (1, 8, 8, 8), (2, 16, 4, 4), (4, 41))
MOST_NODES = 24
MOST_UNREAD = 8
"""Outputs that nothing else reads."""


def program(seed: int, way: str, most_nodes: int = MOST_NODES) -> Chosen:
    """The program of a seed. The ways in which a function is traced have what traced functions have."""
    is_traced = way in ("jit", "traced rewrites")
    g = Growing(seed, is_traced=is_traced)
    for _ in range(int(g.random.integers(1, 3))):
        g.given(g.multiples(g.choose(SHAPES)))
    grow(g, int(g.random.integers(4, most_nodes + 1)))
    target = str(g.choose(runnable_targets()))
    precision = str(g.choose(("float32", "float32", "float32", "strict", "fast")))
    grown = Chosen(
        f"seed {seed}", tuple(g.nodes), g.values, _outputs(g), target, int(g.random.integers(1, 3)), precision=precision, way=way
    )
    kept: Chosen = grown.live()  # type: ignore[assignment]
    return kept


def _outputs(g: Growing) -> tuple[str, ...]:
    """What nobody reads, and something that somebody does."""
    made = [node.output[0] for node in g.nodes if not g.is_traced or g.values[node.output[0]].dtype == np.float32]
    read = {name for node in g.nodes for name in node.input}
    unread = [name for name in made if name not in read]
    more = [name for name in made if name in read and g.chance(0.15)]
    return tuple(dict.fromkeys((*unread[-MOST_UNREAD:], *more[:2])))
