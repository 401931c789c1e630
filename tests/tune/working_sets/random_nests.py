"""Random affine nests: tiled loops in any order, strided and shifted windows, arrays that several accesses touch."""

from __future__ import annotations

import random
from math import prod

from tilewright.graph.expressions.index import Index, axis, constant
from tilewright.graph.types import Access
from tilewright.tune.working_sets.nests import Nest, TileLoop

MOST_ITERATIONS = 150


def random_nest(seed: int) -> Nest:
    """A nest of few iterations."""
    source = random.Random(seed)
    while True:
        extents = {name: source.randint(1, 6) for name in "ijkl"[: source.randint(1, 4)]}
        if prod(extents.values()) <= MOST_ITERATIONS:
            break
    arrays = {name: random_access(source, name, extents) for name in "ABC"[: source.randint(1, 3)]}
    twice = {name: shifted(source, arrays[name]) for name in arrays if source.random() < 0.4}
    shapes = {name: tuple(source.randint(2, 12) for _ in access.indices) for name, access in arrays.items()}
    return Nest(extents, random_loops(source, extents), (*arrays.values(), *twice.values()), shapes)


def random_loops(source: random.Random, extents: dict[str, int]) -> tuple[TileLoop, ...]:
    """One to three loops for every axis, those of an axis in order."""
    tiles = {
        name: sorted({source.randint(1, extent) for _ in range(source.randint(0, 2))} | {1}) for name, extent in extents.items()
    }
    found = []
    while any(tiles.values()):
        name = source.choice([name for name in tiles if tiles[name]])
        found.append(TileLoop(name, tiles[name].pop()))
    return tuple(found)


def random_access(source: random.Random, tensor: str, extents: dict[str, int]) -> Access:
    """Dimensions of zero, one or two axes; no axis in two of them."""
    free = list(extents)
    source.shuffle(free)
    indices = []
    for _ in range(source.randint(1, 3)):
        taken = [free.pop() for _ in range(min(len(free), source.choice((0, 1, 1, 2))))]
        indices.append(sum((axis(name) * source.choice((1, 1, 2, -1)) for name in taken), constant(source.randint(0, 3))))
    return Access(tensor, tuple(indices))


def shifted(source: random.Random, access: Access) -> Access:
    """The same access some elements away."""
    return Access(access.tensor, tuple(Index(index.terms, index.constant + source.randint(0, 2)) for index in access.indices))
