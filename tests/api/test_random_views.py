"""Random chains of views of one array, and of what is computed from it, through `jit`: forwards and backwards, several times."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.support.random.moves import RandomMoves

View = Callable[[Any], Any]


def sliced(random: Random, x: np.ndarray) -> View:
    """Parts of dimensions with steps of both signs, single positions and new dimensions."""
    key: list[Any] = []
    for extent in x.shape:
        start, stop, step = RandomMoves(random).part(extent)
        choice = random.randrange(8)
        key += [None] if choice == 0 else []
        key.append(random.randrange(-extent, extent) if choice == 1 else slice(start, stop if stop >= 0 else None, step))
    return lambda y: y[tuple(key)]


def flipped(random: Random, x: np.ndarray) -> View:
    key = tuple(slice(None, None, random.choice((1, -1))) for _ in x.shape)
    return lambda y: y[key]


def transposed(random: Random, x: np.ndarray) -> View:
    order = random.sample(range(x.ndim), x.ndim)
    return lambda y: tw.transpose(y, order)


def reshaped(random: Random, x: np.ndarray) -> View:
    shape = list(x.shape)
    for _ in range(random.randint(1, 3)):
        RandomMoves(random).reshape_once(shape)
    if shape and random.randrange(3) == 0:
        shape[random.randrange(len(shape))] = -1
    return lambda y: y.reshape(tuple(shape))


def broadcast(random: Random, x: np.ndarray) -> View:
    shape = tuple(extent if extent > 1 else random.choice((1, 2)) for extent in x.shape)
    return lambda y: tw.broadcast_to(y, shape)


CHAINS = 16
"""Results of a function."""
KINDS = (sliced, flipped, transposed, reshaped, reshaped, broadcast)


def views(random: Random, x: np.ndarray) -> list[View]:
    """Some views, each of what the one before makes."""
    made: list[View] = []
    for _ in range(random.randint(2, 6)):
        made.append(random.choice(KINDS)(random, x))
        x = made[-1](x)
    return made


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_views_are_those_of_numpy(random: Random) -> None:
    shape = tuple(random.choice((1, 2, 3, 4, 6, 17)) for _ in range(random.randint(2, 3)))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    chains = [views(random, x) for _ in range(CHAINS)]
    is_computed = random.randrange(2)

    def function(y: Any) -> Any:
        base = y * 2.0 if is_computed else y
        return tuple(reduce(lambda value, view: view(value), chain, base) for chain in chains)

    for found, wanted in zip(tw.jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
