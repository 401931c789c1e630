"""Tensors behind each other, and dimensions that are continued."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.creation import filled, number_in
from tilewright.frontend.torch.operators.positions.index_changes import dimension, known
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.concatenate import concatenate_lengths, concatenated, pad, pad_lengths
from tilewright.graph.builders.continuation import continued
from tilewright.graph.expressions.extents import least_extent
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Extent, SymbolicExtent, Tensor


@lowers("aten.cat.default", "aten.concat.default")
def joined(call: Call) -> Tensor:
    """Tensors behind each other; vectors without elements are left out."""
    parts = call.tensors("tensors", call.result.dtype)
    rank = len(call.result.shape)
    return join(call, [part for part in parts if len(part.shape) == rank], dimension(call["dim"], rank))


def join(call: Call, parts: Sequence[Tensor], along: int) -> Tensor:
    """Tensors behind each other along a dimension."""
    if 0 in call.result.shape:
        return filled(call, 0)
    present = [part for part in parts if part.shape[along] != 0]
    if len(present) == 1:
        return present[0]
    lengths = [part.shape[along] for part in present]
    if are_known(lengths):
        return concatenated(call.builder, present, along)
    if empty := [length for length in lengths if least_extent(length) < 1]:
        raise call.refuse(f"a part of {empty[0]} elements may be empty")
    return concatenate_lengths(call.builder, present, along)


@lowers("aten.stack.default")
def stacked(call: Call) -> Tensor:
    """Tensors behind each other along a new dimension."""
    along = dimension(call["dim"], len(call.result.shape))
    parts = call.tensors("tensors", call.result.dtype)
    apart = [call.builder.reshape(part, (*part.shape[:along], 1, *part.shape[along:])) for part in parts]
    return join(call, apart, along)


@lowers("aten.constant_pad_nd.default")
def padded(call: Call) -> Tensor:
    """A number around a tensor; negative lengths are cut off."""
    x, value = call.tensor("self"), call["value"]
    amounts = _amounts(call["pad"], len(x.shape))
    if 0 in x.shape or 0 in call.result.shape:
        return filled(call, value)
    fill = number_in(call, value, x.dtype)
    if all(pair == (0, 0) for pair in amounts):
        return x
    if any(isinstance(end, SymbolicExtent) for pair in amounts for end in pair):
        return pad_lengths(call.builder, x, amounts, float(fill))
    return call.builder.record(pad, x, amounts, float(fill), kind="pad")


def _amounts(pads: Sequence[Extent], rank: int) -> tuple[tuple[Extent, Extent], ...]:
    """Before and behind of every dimension; torch gives them from the last one on."""
    given = list(zip(pads[::2], pads[1::2], strict=True))
    return (*((0, 0),) * (rank - len(given)), *reversed(given))


@lowers("aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default")
def mirrored(call: Call) -> Tensor:
    """The last dimensions mirrored at their ends."""
    return _continued(call, "reflect")


@lowers("aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default")
def extended(call: Call) -> Tensor:
    """The last dimensions continued by their first and last elements."""
    return _continued(call, "edge")


def _continued(call: Call, mode: str) -> Tensor:
    x = call.tensor("self")
    amounts = _amounts(call["padding"], len(x.shape))
    if 0 in call.result.shape:
        return filled(call, 0)
    for along, (before, behind) in enumerate(amounts):
        if not isinstance(before, int) or not isinstance(behind, int):
            raise call.refuse("how far is known at run time")
        if min(before, behind) < 0 < max(before, behind) and mode == "reflect":
            raise call.refuse("a dimension is cut at one end and mirrored at the other")
        x = continued(call.builder, x, along, before, behind, mode)
    return x


@lowers("aten.block_diag.default")
def in_blocks(call: Call) -> Tensor:
    """Matrices on a diagonal, zeros elsewhere."""
    parts = call.tensors("tensors", call.result.dtype)
    blocks = [call.builder.reshape(part, (*(1,) * (2 - len(part.shape)), *part.shape)) for part in parts]
    widths = known(call, [block.shape[1] for block in blocks])
    if 0 in known(call, call.result.shape):
        return filled(call, 0)
    ends = list(accumulate(widths))
    rows = [
        call.builder.record(pad, block, ((0, 0), (end - width, ends[-1] - end)), 0.0, kind="pad")
        for block, width, end in zip(blocks, widths, ends, strict=True)
        if block.shape[0] != 0
    ]
    return join(call, rows, 0)
