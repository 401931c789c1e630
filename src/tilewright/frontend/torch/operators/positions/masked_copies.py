"""Copies in which the elements where a mask holds are those of another tensor, one after the other."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.index_changes import repeated_to
from tilewright.frontend.torch.operators.rows.scans import scan
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.extents import exact_quotient, least_extent, times
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.shapes import Shape
from tilewright.graph.types import Tensor

MOST_COUNTED = 1 << 14
"""Elements of a mask that are counted: torch does it in one walk, a graph in several."""


@lowers("aten.masked_scatter.default")
def masked_copy(call: Call) -> Tensor:
    """Where the mask holds the next element of `source`, else that of `self`. Too short a source is an error of the call."""
    shape = call.result.shape
    x = repeated_to(call, call.tensor("self"), shape)
    mask, source = unrepeated(call, call.tensor("mask", "bool")), call.tensor("source")
    if 0 in shape:
        return x
    outer = _counted_dimensions(mask, len(shape))
    inner = times(*shape[outer:])
    rows = exact_quotient(times(*source.shape), inner)
    if rows is None or least_extent(rows) < 1:
        raise call.refuse(f"{times(*source.shape)} elements are no rows of {inner}")
    chosen = repeated_to(call, call.builder.reshape(mask, _aligned(mask, len(shape))[:outer]), shape[:outer])
    places = _row_numbers(call, chosen)
    taken = call.builder.record(gather, call.builder.reshape(source, (rows, inner)), places, 0, kind="gather")
    over = call.builder.reshape(chosen, (*chosen.shape, *(1,) * (len(shape) - outer)))
    return call.map("where", over, call.builder.reshape(taken, shape), x)


def unrepeated(call: Call, x: Tensor) -> Tensor:
    """What a tensor repeats along dimensions, if that is how it was made."""
    producer = next((one for one in call.builder.operators if one.write.tensor == x.name), None)
    is_repetition = producer is not None and producer.kind == "broadcast" and len(producer.reads) == 1
    return call.builder.tensors[producer.reads[0].tensor] if producer is not None and is_repetition else x


def _aligned(x: Tensor, rank: int) -> Shape:
    return (*(1,) * (rank - len(x.shape)), *x.shape)


def _counted_dimensions(mask: Tensor, rank: int) -> int:
    """How many dimensions there are up to the last one along which a mask changes."""
    return max((d + 1 for d, extent in enumerate(_aligned(mask, rank)) if extent != 1), default=0)


def _row_numbers(call: Call, mask: Tensor) -> Tensor:
    """How many elements before each one are true, row by row; 0 where it is not."""
    count = times(*mask.shape)
    if isinstance(count, int) and count > MOST_COUNTED:
        raise call.refuse(f"a mask of {count} elements, of at most {MOST_COUNTED}")
    flat = call.builder.reshape(mask, (count,))
    sums = scan(call.builder, call.cast(flat, "int64"), 0, REDUCTIONS["sum"], 0.0)
    before = apply("where", Load(1), apply("subtract", Load(0), Literal(1.0)), Literal(0.0))
    return call.builder.body(before, sums, flat, dtype="int64", kind="row_numbers")
