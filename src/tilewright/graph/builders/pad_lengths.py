"""Padding of dimensions whose extents are known at run time.

Where the padding behind begins is no constant then, so that elements are looked up; outside of the dimension that is its first
or its last element, and what is found there is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tilewright.errors import Undecided
from tilewright.graph.builders.arange import arange
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.pad import Pads, pad
from tilewright.graph.extents import Extent, SymbolicExtent, cuts_between, least_extent, plus
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import constant
from tilewright.graph.scalar import AxisValue, Literal, Load, apply, scalar_of
from tilewright.graph.types import Access, Axis, Operator, Tensor


def pad_lengths(builder: Builder, x: Tensor, pads: Pads, value: float) -> Tensor:
    """`x` with `value` around it; pads (before, behind) are 0 or more. Raises `Undecided` for an extent that may be 0.

    >>> s = SymbolicExtent("s", 1, 64, 32)
    >>> builder = Builder("f")
    >>> [str(extent) for extent in pad_lengths(builder, builder.input("x", (2, s), "float32"), ((1, 0), (1, 2)), 0.0).shape]
    ['3', 's + 3']
    """
    dynamic = tuple(d for d, extent in enumerate(x.shape) if isinstance(extent, SymbolicExtent) and any(pads[d]))
    fixed = tuple((0, 0) if d in dynamic else pair for d, pair in enumerate(pads))
    x = builder.record(pad, x, fixed, value, kind="pad") if any(map(any, fixed)) else x
    if not dynamic:
        return x
    for d in dynamic:
        if least_extent(x.shape[d]) < 1:
            raise Undecided(f"padding of {x.shape[d]} elements").with_cuts(cuts_between(x.shape[d], 0, "<="))
    positions = [builder.record(_positions, x.shape[d], pads[d], kind="positions") for d in dynamic]
    return builder.record(_padded, x, positions, dynamic, pads, value, kind="pad")


def padded_along(
    builder: Builder, x: Tensor, dimensions: Sequence[int], begins: Sequence[int], ends: Sequence[int], value: float
) -> Tensor:
    """`x` with `value` before and behind some of its dimensions."""
    sides = dict(zip(dimensions, zip(begins, ends, strict=True), strict=True))
    return pad_lengths(builder, x, tuple(sides.get(d, (0, 0)) for d in range(len(x.shape))), value)


def _positions(extent: Extent, pads: tuple[int, int], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Where the positions of the result lie in a dimension."""
    operator, tensor = arange(plus(extent, sum(pads)), 0, 1, "int64", name=name, result=result)
    ahead = apply("subtract", operator.body, Literal(float(pads[0])))
    last = apply("subtract", scalar_of(extent), Literal(1.0))
    body = apply("maximum", apply("minimum", ahead, last), Literal(0.0))
    return Operator(name, "positions", operator.axes, (), operator.write, body, accumulator="int64"), tensor


def _padded(
    x: Tensor, positions: list[Tensor], dynamic: tuple[int, ...], pads: Pads, value: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    shape = tuple(plus(extent, sum(pads[d])) if d in dynamic else extent for d, extent in enumerate(x.shape))
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    reads = [Access(tensor.name, (axis_index(f"d{d}"),)) for d, tensor in zip(dynamic, positions, strict=True)]
    found = tuple(constant(0) if d in dynamic else axis_index(f"d{d}") for d in range(len(shape)))
    reads.append(Access(x.name, found, lookups=tuple((d, number) for number, d in enumerate(dynamic))))
    limits = []
    for d in dynamic:
        before, behind = pads[d]
        limits += [apply("greater_equal", AxisValue(f"d{d}"), Literal(float(before)))] if before else []
        limits += [apply("less", AxisValue(f"d{d}"), scalar_of(plus(x.shape[d], before)))] if behind else []
    inside = reduce(lambda left, right: apply("logical_and", left, right), limits)
    body = apply("where", inside, Load(len(dynamic)), Literal(value))
    write = Access(result, tuple(axis_index(axis.name) for axis in axes))
    operator = Operator(name, "pad", axes, tuple(reads), write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)
