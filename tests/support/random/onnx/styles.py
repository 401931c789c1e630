"""What graphs are grown from: inputs and the mixture of nodes of a kind of model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.support.random.onnx.arithmetic import ARITHMETIC
from tests.support.random.onnx.detections import DETECTIONS
from tests.support.random.onnx.growing import MOST_ELEMENTS, MOST_ELEMENTS_OF_LARGE, Growing, Unfit
from tests.support.random.onnx.idioms import IDIOMS
from tests.support.random.onnx.layers import LAYERS
from tests.support.random.onnx.moves import MOVES
from tests.support.random.onnx.program import Program
from tests.support.random.onnx.sampling import SAMPLING
from tests.support.targets import runnable_targets

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
LEAST_NODES, MOST_NODES = 3, 60
LEAST_NODES_OF_LARGE = 20
"""Only sweeps, which ask for more nodes, have large tensors."""
MOST_UNREAD = 14
"""Outputs that nothing else reads."""
PATIENCE = 40
"""How many nodes may be unfit in a row."""
STYLES = ("detection", "segmentation", "language", "anything")
ENDS = ("end of a detector", "end of a language model")
"""What follows a model: drawn apart from the others, whose seeds keep their programs."""


def program(seed: int, most_nodes: int = MOST_NODES, styles: Sequence[str] = STYLES) -> Program:
    """The program of a seed."""
    draws = np.random.default_rng([seed, 2])
    batches = ((2, 3), (1, 4))[draws.integers(2)] if draws.random() < 0.3 else (int(draws.integers(1, 4)),)
    is_large = most_nodes > LEAST_NODES_OF_LARGE and draws.random() < 0.15
    g = Growing(seed, batches, MOST_ELEMENTS_OF_LARGE if is_large else MOST_ELEMENTS)
    style = str(draws.choice(styles))
    _inputs(g, style, 4 if is_large else 1)
    wanted = round(float(np.exp(draws.uniform(np.log(2 * LEAST_NODES), np.log(most_nodes)))))
    _grow(g, _mixture(style, draws), wanted)
    name = f"random {style} graph, seed {seed}"
    grown = Program(name, tuple(g.nodes), g.values, _outputs(g), str(draws.choice(runnable_targets())), int(draws.integers(1, 3)))
    return grown.live()


def _inputs(g: Growing, style: str, times: int) -> None:
    """The extents of images, sequences and features are so many times as large as those of small graphs."""
    if style in ("detection", "segmentation"):
        channels, height, width = (
            g.choose([1, 3, 4, 8, 12]),
            times * g.choose([4, 5, 6, 8, 9]),
            times * g.choose([4, 6, 7, 8, 10]),
        )
        g.input(lambda batch: _normal(g, batch, channels, height, width))
        if g.chance(0.4):
            g.input(lambda batch: _normal(g, batch, channels, height, width))
    if style in ("detection", "anything"):
        features, places = g.choose([4, 8, 16, 64]), times * g.choose([5, 10, 21])
        g.input(lambda batch: _normal(g, batch, features, places))
    if style == "language":
        length, width = times * g.choose([1, 4, 5, 8, 11]), times * g.choose([4, 6, 8, 16])
        longer = 3 if g.chance(0.4) else 0  # sequences whose length changes with the batch
        g.input(lambda batch: _normal(g, batch, length + longer * batch, width))
        g.input(lambda batch: g.rng.integers(0, 10, (batch, length + longer * batch)))
        g.input(lambda batch: g.rng.random((batch, length + longer * batch)) < 0.7)
    if style in ENDS:
        g.has_empty = g.chance(0.4)
        (_of_a_detector if style == ENDS[0] else _of_a_language_model)(g)
    if style == "anything":
        shape = [g.choose(EXTENTS) for _ in range(g.whole(1, 4))]
        g.input(lambda batch: _normal(g, *shape))
        g.input(lambda batch: g.rng.integers(-4, 5, shape[:2]))


def _of_a_detector(g: Growing) -> None:
    """Boxes, scores of classes and heat maps; some scores have few values, so that many are equal."""
    places, classes, (height, width) = g.choose([1, 5, 12]), g.choose([1, 2, 4, 7]), g.choose([(3, 5), (4, 4), (7, 2)])
    g.input(lambda batch: g.rng.random((batch, places, 4), np.float32))
    steps = g.choose([4, 4, 1 << 20])
    g.input(lambda batch: (np.floor(g.rng.random((batch, classes, places)) * steps) / steps).astype(np.float32))
    g.input(lambda batch: g.rng.random((batch, places, classes), np.float32))
    if g.chance(0.5):
        g.input(lambda batch: _normal(g, batch, classes, height, width))


def _of_a_language_model(g: Growing) -> None:
    """Logits of one place or of all, ids and a mask; some logits are multiples of 1/2, so that many are equal."""
    count, length = g.choose([5, 8, 17, 40]), g.choose([1, 3, 6])
    coarse, dtype = g.chance(0.3), g.choose([np.int64, np.int64, np.int32])
    g.input(lambda batch: _halves(_normal(g, batch, count), coarse))
    g.input(lambda batch: g.rng.integers(0, count, (batch, length)).astype(dtype))
    if g.chance(0.6):
        g.input(lambda batch: _normal(g, batch, length, count))
        g.input(lambda batch: g.rng.random((batch, length)) < 0.7)


def _halves(x: np.ndarray, coarse: bool) -> np.ndarray:
    return np.asarray(np.round(x * 2) / 2, np.float32) if coarse else x


def _normal(g: Growing, *shape: int) -> np.ndarray:
    return g.rng.standard_normal(shape, np.float32)


def _mixture(style: str, draws: np.random.Generator) -> list[tuple[Callable[[Growing], None], float]]:
    """Every graph has kinds of nodes that it likes, and half of all kinds not at all: then those that it has meet more often."""
    kinds = (MOVES, ARITHMETIC, LAYERS, IDIOMS, DETECTIONS, SAMPLING)
    shares = {
        ENDS[0]: (0.2, 0.3, 0.0, 0.0, 3.0, 0.2),
        ENDS[1]: (0.2, 0.3, 0.0, 0.0, 0.2, 3.0),
        "detection": (1.2, 1.0, 0.6, 1.0),
        "segmentation": (0.6, 0.7, 1.5, 0.7),
        "language": (1.0, 1.0, 0.6, 1.5),
        "anything": (1.0, 1.0, 0.5, 0.7),
    }[style]
    weighted = zip(kinds, shares, strict=False)
    return [
        (make, weight * share * float(draws.uniform(0.2, 2) * (draws.random() < 0.5)))
        for makers, share in weighted
        for make, weight in makers
    ]


def _grow(g: Growing, mixture: list[tuple[Callable[[Growing], None], float]], wanted: int) -> None:
    shares = np.array([weight for _, weight in mixture])
    failures = 0
    while len(g.nodes) < wanted and failures < PATIENCE:
        g.favour()
        make, _ = mixture[g.rng.choice(len(mixture), p=shares / shares.sum())]
        try:
            make(g)
            failures = 0
        except Unfit:
            failures += 1


def _outputs(g: Growing) -> tuple[str, ...]:
    """Values that nobody reads, and some that are read."""
    made = [name for node in g.nodes for name in node.output]
    unread = [name for name in made if not g.readers[name]]
    read = [name for name in made if g.readers[name] and g.chance(0.1)]
    return tuple(dict.fromkeys([*unread[-MOST_UNREAD:], *read[:4]]))
