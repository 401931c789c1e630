"""Random functions of three arrays: products, softmax, transposes, means, sums and maxima, with values used several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tilewright as tw

EXTENTS = (1, 1, 2, 3, 5, 16, 17, 33, 48, 64, 69)


def random_inputs(seed: int) -> list[np.ndarray]:
    """Three float32 arrays that share extents, so that some products are possible."""
    generator = np.random.default_rng(seed)
    sizes = generator.choice(EXTENTS, 4)
    batch = int(generator.integers(1, 4))
    shapes = [(batch, *generator.choice(sizes, 2)) for _ in range(3)]
    return [generator.standard_normal(shape, np.float32) / 2 for shape in shapes]


def random_function(seed: int) -> Callable[..., tuple[Any, ...]]:
    """A function of one or two results; every call takes the same decisions, for traced values and for arrays alike."""

    def function(*inputs: Any) -> tuple[Any, ...]:
        generator = np.random.default_rng(seed + 1_000_000)
        values = list(inputs)
        for _ in range(generator.integers(2, 7)):
            values.append(_step(generator, values))
        return tuple(values[-1:] + (values[-2:-1] if generator.integers(2) else []))

    return function


def _step(generator: np.random.Generator, values: Sequence[Any]) -> Any:
    one, other = (values[generator.integers(len(values))] for _ in range(2))
    choice, scale = generator.integers(7), float(generator.uniform(0.2, 0.6))
    pairs = [(a, b) for a in values for b in values if a.shape[-1] == b.shape[-2]]
    if choice <= 1 and pairs:
        left, right = pairs[generator.integers(len(pairs))]
        return left @ right * 0.1
    if choice == 2:
        return tw.softmax(one, axis=int(generator.integers(-2, 0)))
    if choice == 3:
        return tw.transpose(one, (0, 2, 1))
    if choice == 4:
        return one - tw.mean(one, axis=int(generator.integers(1, 3)), keepdims=True)
    if choice == 5:
        return tw.maximum(one, 0.0)
    return one + other * scale if one.shape == other.shape else one * scale + 0.25
