"""Tensors of one value, positions, ones on diagonals, triangles, and evenly spaced numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tilewright.frontend.torch.call import LARGEST_WHOLE_DOUBLE, Call
from tilewright.frontend.torch.element_types import TYPES
from tilewright.frontend.torch.operators.positions.index_changes import dimension, repeated_to
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import arange, broadcast, map_of
from tilewright.graph.builders.triangles import eye, triangle
from tilewright.graph.expressions.conditions import compared_ahead
from tilewright.graph.expressions.extents import largest_extent
from tilewright.graph.expressions.index import axis, of_extent
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import Shape, are_known
from tilewright.graph.types import Access, Guard, Operator, SymbolicExtent, Tensor

MOST_ELEMENTS = 1 << 20
"""Of tensors that torch computes when a graph is recorded."""
SMALL = 1024
"""Elements of integers up to which whoever builds the graph knows the values."""
WHOLE_SHORT_FLOATS = {"float16": 1 << 11, "bfloat16": 1 << 8}
"""Integers up to which short floating-point numbers are exact."""


# One value


@lowers(
    *("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.zero.default"),
    *("aten.empty.memory_format", "aten.empty_like.default", "aten.new_empty.default", "aten.empty_strided.default"),
    *("aten.new_empty_strided.default", "aten.empty_permuted.default"),
)
def zeros(call: Call) -> Tensor:
    """Zeros, which elements without a value are as well."""
    return filled(call, 0)


@lowers("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(call: Call) -> Tensor:
    """Ones."""
    return filled(call, 1)


@lowers("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def full(call: Call) -> Tensor:
    """One number everywhere."""
    return filled(call, call["fill_value"])


@lowers("aten.scalar_tensor.default")
def number(call: Call) -> Tensor:
    """A number as a tensor."""
    return filled(call, call["s"])


@lowers("aten.fill.Scalar", "aten.fill.Tensor")
def refilled(call: Call) -> Tensor:
    """The value of a number or a tensor of one element in another's shape."""
    return filled(call, call["value"])


def filled(call: Call, value: Any) -> Tensor:
    """A value everywhere in the result's shape and type."""
    shape, dtype = call.result.shape, call.result.dtype
    if isinstance(value, Tensor | torch.Tensor | SymbolicExtent):
        given = call.as_operand(value, dtype)
        assert isinstance(given, Tensor)
        return repeated_to(call, given, shape)
    exact = number_in(call, value, dtype)
    if isinstance(exact, int) and abs(exact) > LARGEST_WHOLE_DOUBLE:
        return call.builder.record(broadcast, call.builder.literal(np.array(exact, dtype)), shape, kind="broadcast")
    return call.builder.record(map_of, "full", shape, (), Literal(float(exact)), dtype, kind="full")


def number_in(call: Call, value: Any, dtype: str) -> float:
    """A number as torch stores it in a type. Raises `UnsupportedOperation` for complex ones, and those out of range."""
    if not isinstance(value, bool | int | float):
        raise call.refuse(f"a value of type {type(value).__name__}")
    if dtype == "bool":
        return int(value != 0)
    kind = torch.iinfo(TYPES[dtype]) if "int" in dtype else torch.finfo(TYPES[dtype])
    if math.isfinite(value) and kind.min <= value <= kind.max:
        return int(value) if "int" in dtype else float(value)
    if "int" in dtype or math.isfinite(value):
        raise call.refuse(f"{value} is no {dtype}")
    return float(value)


@lowers("aten.copy.default")
def copied(call: Call) -> Tensor:
    """The elements of another tensor in the shape and type of this one."""
    return repeated_to(call, call.tensor("src", call.result.dtype), call.result.shape)


# Positions


@lowers("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def positions(call: Call) -> Tensor:
    """Evenly spaced numbers before an end."""
    start, step = (call[name] if call.has(name) else default for name, default in (("start", 0), ("step", 1)))
    (extent,), dtype = call.result.shape, call.result.dtype
    if not _is_whole(start) or not _is_whole(step) or isinstance(step, SymbolicExtent) or not _holds(call, start, step):
        return computed(call, lambda: torch.arange(start, call["end"], step, dtype=TYPES[dtype], device="cpu"))
    start = start if isinstance(start, SymbolicExtent) else int(start)
    made = call.builder.record(arange, extent, start, int(step), dtype, kind="arange")
    if "int" in dtype and isinstance(extent, int) and isinstance(start, int) and extent <= SMALL:
        call.builder.known[made.name] = (start + int(step) * np.arange(extent)).astype(dtype)
    return made


def _is_whole(value: Any) -> bool:
    return isinstance(value, SymbolicExtent) or float(value).is_integer()


def _holds(call: Call, start: Any, step: Any) -> bool:
    """Whether the result's type has all numbers, so that it does not matter how they are rounded."""
    largest = WHOLE_SHORT_FLOATS.get(call.result.dtype)
    if largest is None:
        return True
    first = largest_extent(start)
    return bool(max(abs(first), abs(first + step * largest_extent(call.result.shape[0]))) <= largest)


@lowers(
    *("aten.linspace.default", "aten.logspace.default", "aten.tril_indices.default", "aten.triu_indices.default"),
    *("aten.hann_window.default", "aten.hann_window.periodic", "aten.hamming_window.default", "aten.hamming_window.periodic"),
    *("aten.blackman_window.default", "aten.blackman_window.periodic", "aten.bartlett_window.default"),
    *("aten.bartlett_window.periodic", "aten.kaiser_window.default", "aten.kaiser_window.periodic", "aten.kaiser_window.beta"),
)
def evenly_spaced(call: Call) -> Tensor:
    """Numbers that follow from numbers alone, as torch computes them."""
    overload = getattr(getattr(torch.ops.aten, call.operator), call.overload.split(".")[2])
    given = {argument.name: call[argument.name] for argument in overload._schema.arguments if call.has(argument.name)}
    if any(isinstance(value, SymbolicExtent | Tensor | torch.Tensor) for value in given.values()):
        raise call.refuse("its numbers are known at run time")
    return computed(call, lambda: overload(**given | {"dtype": TYPES[call.result.dtype]}))


def computed(call: Call, compute: Callable[[], torch.Tensor]) -> Tensor:
    """A constant that torch computes now."""
    if not are_known(call.result.shape) or math.prod(map(largest_extent, call.result.shape)) > MOST_ELEMENTS:
        raise call.refuse("torch computes its numbers, of which there are many")
    made = compute()
    if type(made) is not torch.Tensor:
        raise call.refuse("there are no real tensors while its graph is recorded")
    return call.as_tensor(made)


# Diagonals


@lowers("aten.eye.default", "aten.eye.m")
def ones_on_diagonal(call: Call) -> Tensor:
    """Ones on the diagonal of a matrix."""
    return call.builder.record(eye, call.result.shape, 0, call.result.dtype, kind="eye")


@lowers("aten.tril.default", "aten.triu.default")
def one_triangle(call: Call) -> Tensor:
    """Zeros above or below a diagonal."""
    x = call.tensor("self")
    if isinstance(call["diagonal"], SymbolicExtent):
        raise call.refuse("its diagonal is known at run time")
    return call.builder.record(triangle, x, call["diagonal"], call.operator == "triu", kind="trilu")


@lowers("aten.diag_embed.default")
def matrices_of_diagonals(call: Call) -> Tensor:
    """The last dimension as diagonals of matrices, along two dimensions of the result."""
    rank = len(call.result.shape)
    first, second = dimension(call["dim1"], rank), dimension(call["dim2"], rank)
    return call.builder.record(
        on_diagonal, call.tensor("self"), None, call.result.shape, (first, second), call["offset"], kind="diag_embed"
    )


def on_diagonal(
    x: Tensor, around: Tensor | None, shape: Shape, along: tuple[int, int], offset: int, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """Elements on the diagonals of two dimensions; elsewhere those of `around`, which has this shape, or zeros.

    `x` has the other dimensions, then the one along the diagonal.

    >>> on_diagonal(Tensor("x", (3,)), None, (3, 3), (0, 1), 0, name="f", result="y")[1].shape
    (3, 3)
    """
    first, second = along
    place = axis(f"d{first}") - max(-offset, 0)
    guard = Guard((place, of_extent(x.shape[-1]) - 1 - place), 0.0)
    rest = (axis(f"d{d}") for d in range(len(shape)) if d not in along)
    reads = [Access(x.name, (*rest, place), guard)]
    other = Literal(0.0) if around is None else Load(1)
    if around is not None:
        reads.append(Access(around.name, tuple(axis(f"d{d}") for d in range(len(shape)))))
    is_on = compared_ahead("equal", AxisValue(f"d{second}"), AxisValue(f"d{first}"), offset)
    return map_of("diagonal", shape, reads, apply("where", is_on, Load(0), other), x.dtype, name, result)
