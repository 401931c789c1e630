"""Random formulas of rows: maps, reductions, and maps of both, of which each step mostly reads the last ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw

SHAPES = ((5, 37), (3, 8), (17, 1), (1, 33), (2, 100))
REDUCTIONS = (tw.sum, tw.sum, tw.mean, tw.max, tw.max, tw.min)
FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    tw.tanh,
    tw.sigmoid,
    tw.exp,
    tw.abs,
    tw.square,
    tw.erf,
    tw.negative,
    tw.relu,
    lambda x: tw.sqrt(tw.abs(x) + 0.1),
    lambda x: tw.log(tw.abs(x) + 0.1),
    lambda x: 2.0 * x,
    lambda x: x / -1.5,
    lambda x: 0.5 - x,
    lambda x: 1 / (tw.abs(x) + 0.5),
)
PAIRS: tuple[Callable[[Any, Any], Any], ...] = (
    tw.subtract,
    tw.subtract,
    tw.multiply,
    tw.add,
    tw.maximum,
    tw.minimum,
    lambda x, y: x / (tw.abs(y) + 0.3),
    lambda x, y: tw.where(x > y, x, 0.5 * y),
)


def random_formula(seed: int) -> Callable[[Any], Any]:
    """A function of one array; every call takes the same decisions, for traced values and for arrays alike."""

    def formula(x: Any) -> Any:
        generator = np.random.default_rng(seed)
        axis = (0, 1, (0, 1))[generator.integers(3)]
        values = [x]
        for _ in range(generator.integers(3, 10)):
            one, other = (values[-1 - int(generator.geometric(0.5) - 1) % len(values)] for _ in range(2))
            match generator.choice(3, p=(0.35, 0.25, 0.4)):
                case 0:
                    values.append(REDUCTIONS[generator.integers(len(REDUCTIONS))](one, axis=axis, keepdims=True))
                case 1:
                    values.append(FUNCTIONS[generator.integers(len(FUNCTIONS))](one))
                case _:
                    values.append(PAIRS[generator.integers(len(PAIRS))](one, other))
        return PAIRS[generator.integers(4)](values[-1], x)

    return formula
