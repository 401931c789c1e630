"""Repetition of every element along a dimension."""

from __future__ import annotations

from tilewright.graph.builders.elementwise import copy_of, points
from tilewright.graph.index import floordiv
from tilewright.graph.types import Operator, Tensor


def repeat(x: Tensor, along: int, count: int, extent: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element `count` times along a dimension, of which the first `extent` are kept, as `numpy.repeat`.

    There are at least `extent / count` elements along the dimension.

    >>> operator, tensor = repeat(Tensor("x", (2, 3)), 1, 4, 10, name="repeat", result="y")
    >>> tensor.shape, str(operator.reads[0].indices[1])
    ((2, 10), '(d1)//4')
    """
    shape = (*x.shape[:along], extent, *x.shape[along + 1 :])
    indices = [floordiv(index, count) if d == along else index for d, index in enumerate(points(len(shape)))]
    return copy_of("repeat", x, shape, indices, name, result)
