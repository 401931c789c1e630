"""Repetition of every element along a dimension."""

from __future__ import annotations

from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import floordiv
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Axis, Operator, Tensor


def repeat(x: Tensor, along: int, count: int, extent: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element `count` times along a dimension, of which the first `extent` are kept, as `numpy.repeat`.

    There are at least `extent / count` elements along the dimension.

    >>> operator, tensor = repeat(Tensor("x", (2, 3)), 1, 4, 10, name="repeat", result="y")
    >>> tensor.shape, str(operator.reads[0].indices[1])
    ((2, 10), '(d1)//4')
    """
    shape = (*x.shape[:along], extent, *x.shape[along + 1 :])
    axes = tuple(Axis(f"d{place}", size) for place, size in enumerate(shape))
    indices = tuple(axis_index(axis.name) for axis in axes)
    read = Access(x.name, tuple(floordiv(index, count) if d == along else index for d, index in enumerate(indices)))
    operator = Operator(name, "repeat", axes, (read,), Access(result, indices), Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)
