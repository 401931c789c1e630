"""Programs of a few operators that read computed constants, one after the other or side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from tests.support.random.constants.readers import READERS
from tests.support.random.onnx.growing import Growing, Unfit
from tests.support.random.onnx.program import Program, Value, reads
from tests.support.targets import runnable_targets

MOST_READERS = 4
PATIENCE = 60
"""How many tries may be unfit."""


def program(seed: int, most_readers: int = MOST_READERS) -> Program:
    """The program of a seed."""
    draws = np.random.default_rng([seed, 7])
    batches = (2, 3) if draws.random() < 0.2 else (int(draws.integers(1, 4)),)
    g = Growing(seed, batches)
    _inputs(g)
    results = _grown(g, int(draws.integers(1, most_readers + 1)))
    name = f"random program of computed constants, seed {seed}"
    nodes = tuple(g.nodes)
    values = _with_constants(g.values, nodes)
    threads = int(draws.integers(1, 3))
    return Program(name, nodes, values, results, str(draws.choice(runnable_targets())), threads).live()


def _inputs(g: Growing) -> None:
    channels, height, width = g.choose([3, 8, 12]), g.choose([5, 8]), g.choose([4, 7, 8])
    length, features = g.choose([4, 8, 11]), g.choose([8, 16, 24])
    g.input(lambda batch: g.rng.standard_normal((batch, channels, height, width), np.float32))
    g.input(lambda batch: g.rng.standard_normal((batch, length, features), np.float32))
    g.input(lambda batch: g.rng.standard_normal((batch, features), np.float32))
    g.input(lambda batch: g.rng.integers(0, 10, (batch, length)))


def _grown(g: Growing, wanted: int) -> tuple[str, ...]:
    """What the operators make that read computed constants; what was begun and found unfit is read by nobody."""
    results: list[str] = []
    for _ in range(PATIENCE):
        try:
            results.append(g.choose(READERS)(g))
        except Unfit:
            continue
        if len(results) == wanted:
            break
    return tuple(dict.fromkeys(results))


def _with_constants(values: dict[str, Value], nodes: tuple[onnx.NodeProto, ...]) -> dict[str, Value]:
    """The values, of which those are constant that depend on constants alone: where a node is left out, they stay it."""
    found = dict(values)
    for node in nodes:
        if all(found[name].is_constant for name in reads(node)):
            found |= {name: replace(found[name], is_constant=True) for name in node.output}
    return found
