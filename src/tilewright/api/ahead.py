"""Kernels made ahead of calls: all that the values of some ranges will run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.errors import ShapeError
from tilewright.frontend.tracing.trace import TensorSpec
from tilewright.graph.expressions.extents import value_of
from tilewright.runtime.arrays import Array

MOST_PREPARED = 64
"""Kernels for ranges. More of them are values that are compiled on their own: calls had better make those that they need."""


def prepare_all(ranges: Mapping[str, range], make: Callable[[Mapping[str, int]], object]) -> None:
    """Call `make` with values of all ranges until each of its results is made: equal results at all corners of a box of values
    and beside the lowest ones are those of the whole box, as kernels serve ranges or multiples of a number in them; other boxes
    are halved along their longest side.

    Raises `ShapeError` for an empty range and for values that are compiled on their own.

    >>> made = []
    >>> prepare_all({"n": range(1, 1000)}, lambda values: made.append(values["n"] // 300) or made[-1])
    >>> sorted(set(made))
    [0, 1, 2, 3]
    """
    for name, values in ranges.items():
        if not values or values.step != 1 or values[0] < 0:
            hint = "give a range of neighbouring integers: range(1, 513)"
            raise ShapeError(f"dimension {name!r} cannot have the values {values!r}", where="prepare", hint=hint)
    boxes, made = [dict(ranges)], set[int]()
    kept: list[object] = []
    while boxes:
        box = boxes.pop()
        ends = (sorted({r[0], min(r[0] + 1, r[-1]), r[-1]}) for r in box.values())
        corners = [make(dict(zip(box, values, strict=True))) for values in product(*ends)]
        kept += [found for found in corners if id(found) not in made]
        made |= set(map(id, corners))
        if len(made) > MOST_PREPARED:
            raise ShapeError(
                f"the ranges of {', '.join(ranges)} have more than {MOST_PREPARED} kernels",
                where="prepare",
                why="values are specialised: TILEWRIGHT_LOG=plan says which question of the function decides",
            )
        if len({id(found) for found in corners}) > 1:
            boxes += _halves(box)


def stand_in(described: TensorSpec, values: Mapping[str, int]) -> Array:
    """An array of zeros that takes no memory, of a described type and shape for these values of dimensions."""
    shape = [value_of(extent, values) for extent in described.shape]
    return np.broadcast_to(np.zeros((), dtype_named(described.dtype)), shape)


def _halves(box: Mapping[str, range]) -> list[dict[str, range]]:
    name = max(box, key=lambda name: len(box[name]))
    middle = len(box[name]) // 2
    return [{**box, name: box[name][:middle]}, {**box, name: box[name][middle:]}] if middle else []
