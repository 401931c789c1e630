"""The program of a seed."""

from __future__ import annotations

import numpy as np

from tests.support.random.jit.growing import Growing, Unfit
from tests.support.random.jit.lines import KINDS
from tests.support.random.jit.program import Program
from tests.support.targets import runnable_targets

MOST_LINES = 14
EXTENTS = (1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 31, 33, 64, 65)
LAYOUTS = ("", "", "", "backwards", "with gaps", "transposed", "unaligned")


def program(seed: int, most_lines: int = MOST_LINES) -> Program:
    """Every seed has one program."""
    g = Growing(seed)
    palette = g.random.choice(EXTENTS, 4)
    for _ in range(int(g.random.integers(1, 4))):
        rank = int(g.random.choice((0, 1, 2, 2, 3, 3, 4), p=None))
        shape = [int(one) for one in g.random.choice(palette, rank)]
        while np.prod(shape) > 5_000:
            shape[int(np.argmax(shape))] = int(g.choose((1, 2, 3)))
        g.given(g.random.standard_normal(shape), layout=g.choose(LAYOUTS))
    kinds = [kind for kind, weight in KINDS for _ in range(weight)]
    count = int(g.random.integers(2, most_lines + 1))
    for _ in range(20 * count):
        if len(g.lines) >= count:
            break
        try:
            g.choose(kinds)(g)
        except Unfit:
            continue
    return g.program(_outputs(g), _options(g))


def _outputs(g: Growing) -> tuple[str, ...]:
    """The arrays behind which most lines stand, and perhaps some that lines read as well."""
    behind: dict[str, set[str]] = {}
    for line in g.lines:
        behind[line.name] = {line.name}.union(*(behind.get(name, set()) for name in line.reads))
    numbers = set(g.numbers())
    made = sorted((name for name in behind if name in numbers), key=lambda name: len(behind[name]), reverse=True)
    outputs, covered = [], set[str]()
    for name in made:
        if len(outputs) < 3 and (not outputs or len(behind[name] - covered) > 1):
            outputs.append(name)
            covered |= behind[name]
    shared = [name for name in made if name in covered and name not in outputs and g.random.random() < 0.15]
    return tuple([*outputs, *shared[:2]] or g.numbers()[:1])


def _options(g: Growing) -> dict[str, object]:
    fuse = g.choose((None, None, True, False))
    target = g.choose(runnable_targets())
    return {"target": target, "fuse": fuse, "threads": g.choose((1, 1, 2, 3)), "dynamic": g.choose((None, False))}
