"""The program of a seed: inputs, layers, and which of its values are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.support.random.qdq.growing import Growing, Unfit
from tests.support.random.qdq.integers import INTEGER_LAYERS
from tests.support.random.qdq.layers import LAYERS
from tests.support.random.qdq.program import Program
from tests.support.targets import runnable_targets

MOST_LAYERS = 5
PATIENCE = 30


def program(seed: int, most_layers: int = MOST_LAYERS, *, with_integers: bool = True) -> Program:
    """Of one image, matrix or batch of matrices and up to so many layers; results are bytes that nothing reads, or what they
    stand for, and now and then bytes that are read. `with_integers` has operators of integers among the layers."""
    g = Growing(seed)
    extents = [g.choose([1, 2, 3, 5, 8, 13, 16, 33]) for _ in range(4)]
    match g.choose(["image", "image", "matrix", "matrices"]):
        case "image":
            g.input(g.whole(1, 2), g.choose([1, 3, 4, 8, 12]), 2 + extents[0] % 14, 2 + extents[1] % 14)
        case "matrix":
            g.input(extents[0], extents[1])
        case _:
            g.input(g.whole(1, 3), extents[0], extents[1])
    _grow(g, g.whole(1, most_layers), (*LAYERS, *INTEGER_LAYERS) if with_integers else LAYERS)
    results = {value.name: value.steps for value in g.values if value.name not in g.read or g.chance(0.1)}
    types = {value.name: value.dtype for value in g.values}
    if g.chance(0.2):
        name, stands_for = g.dequantise(g.values[-1])
        results[name], types[name] = stands_for, "float32"
    target = g.choose(runnable_targets())
    return Program(
        f"random quantised layers, seed {seed}", tuple(g.nodes), g.constants, g.feeds, results, types, target, g.whole(1, 2)
    )


def _grow(g: Growing, wanted: int, layers: Sequence[tuple[Callable[[Growing], None], int]]) -> None:
    shares = np.array([weight for _, weight in layers], np.float64)
    failures = 0
    while len(g.values) <= wanted and failures < PATIENCE:
        make, _ = layers[int(g.rng.choice(len(layers), p=shares / shares.sum()))]
        before = len(g.nodes), set(g.read)
        try:
            make(g)
        except Unfit:
            failures += 1
            del g.nodes[before[0] :]
            g.read = before[1]
