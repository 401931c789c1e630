"""Views of memory by strides, where the memory is that of a tensor whose elements follow one another in it."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.extents import extent_of
from tilewright.frontend.torch.operators.positions.index_changes import known
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.reshape import read_at
from tilewright.graph.expressions.extents import minus
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.types import Extent, Tensor


@lowers("aten.as_strided.default", "aten.as_strided_copy.default")
def strided(call: Call) -> Tensor:
    """The elements of memory at an offset plus a sum of multiples."""
    x, example = call.tensor("self"), call.example("self")
    own, asked = [extent_of(stride) for stride in example.stride()], list(call["stride"])
    offset = call["storage_offset"]
    ahead = 0 if offset is None else minus(offset, extent_of(example.storage_offset()))
    shape = call.result.shape
    if ahead == 0 and shape == x.shape and _without_single(shape, own) == _without_single(shape, asked):
        return x
    extents, strides, steps = known(call, x.shape), known(call, own), known(call, asked)
    (begin,), sizes = known(call, [ahead]), known(call, shape)
    order = sorted(range(len(own)), key=lambda d: (-strides[d], extents[d] == 1))
    count = _dense_count([extents[d] for d in order], [strides[d] for d in order])
    last = begin + sum((extent - 1) * step for extent, step in zip(sizes, steps, strict=True))
    if count is None or 0 in shape or not 0 <= begin <= last < count:
        raise call.refuse("the memory is not that of the operand alone, in order")
    flat = call.builder.reshape(call.builder.transpose(x, order), (count,))
    index = sum((axis(f"d{d}") * step for d, step in enumerate(steps)), constant(begin))
    return read_at(call.builder.record, flat, shape, [index], "as_strided")


def _without_single(shape: Sequence[Extent], strides: Sequence[Extent]) -> list[Extent]:
    """The strides that matter."""
    return [stride for extent, stride in zip(shape, strides, strict=True) if extent != 1]


def _dense_count(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """How many elements lie side by side where strides, the largest first, leave no holes; None where they do."""
    count = 1
    for extent, stride in reversed(list(zip(shape, strides, strict=True))):
        if extent != 1 and stride != count:
            return None
        count *= extent
    return count
