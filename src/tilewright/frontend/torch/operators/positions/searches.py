"""Numbers searched for among sorted ones, by halves as torch does."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.index_changes import known
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import map_of
from tilewright.graph.builders.reshape import gather, gather_elements
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

MOST_BOUNDARIES = 4096
"""In which a graph searches: each factor of 2 is a step of some operators more."""


@lowers("aten.bucketize.Tensor")
def bucket(call: Call) -> Tensor:
    """How many boundaries are below each element, or at most it."""
    dtype = call.common_type("self", "boundaries")
    return _found(call, call.tensor("boundaries", dtype), call.tensor("self", dtype), call["right"])


@lowers("aten.searchsorted.Tensor")
def place(call: Call) -> Tensor:
    """The same in rows of sorted numbers, each with its own elements, or in one row."""
    dtype = call.common_type("sorted_sequence", "self")
    is_right = call["right"] or call["side"] == "right"
    rows, order = call.tensor("sorted_sequence", dtype), call.optional("sorter")
    if order is not None:
        rows = call.builder.record(gather_elements, rows, order, len(rows.shape) - 1, kind="gather")
    return _found(call, rows, call.tensor("self", dtype), is_right)


def _found(call: Call, rows: Tensor, x: Tensor, is_right: bool) -> Tensor:
    """The end of a search by halves, whose comparisons are torch's also where numbers are NaN, or not sorted."""
    (count,) = known(call, rows.shape[-1:])
    if count > MOST_BOUNDARIES:
        raise call.refuse(f"{count} boundaries are many")
    if 0 in x.shape or not count:
        return _numbers(call, x, 0, call.result.dtype)
    start, end = _numbers(call, x, 0, "int64"), _numbers(call, x, count, "int64")
    for _ in range(count.bit_length()):
        half = apply("right_shift", apply("add", Load(0), Load(1)), Literal(1.0))
        middle = call.builder.body(half, start, end, dtype="int64", kind="middle")
        inside = call.map("minimum", middle, float(count - 1), dtype="int64")
        one_row = len(rows.shape) == 1
        value = call.builder.record(gather if one_row else gather_elements, rows, inside, len(rows.shape) - 1, kind="gather")
        is_behind = call.map("greater" if is_right else "greater_equal", value, x, dtype="bool")
        is_open = call.map("less", start, end, dtype="bool")
        is_up = call.builder.body(
            apply("logical_and", Load(0), apply("logical_not", Load(1))), is_open, is_behind, dtype="bool", kind="is_up"
        )
        is_down = call.map("logical_and", is_open, is_behind, dtype="bool")
        start = call.map("where", is_up, call.map("add", middle, 1.0, dtype="int64"), start, dtype="int64")
        end = call.map("where", is_down, middle, end, dtype="int64")
    return call.cast(start, call.result.dtype)


def _numbers(call: Call, x: Tensor, value: int, dtype: str) -> Tensor:
    return call.builder.record(map_of, "full", x.shape, (), Literal(float(value)), dtype, kind="full")
