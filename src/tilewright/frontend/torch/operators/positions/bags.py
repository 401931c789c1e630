"""Sums and means of rows of a table: bags of equally many, as `nn.EmbeddingBag` makes of a matrix of positions."""

from __future__ import annotations

from tilewright.frontend.torch.bodies import X, Y, divide, maximum
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.gathers import along_dimension
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import arange
from tilewright.graph.expressions.extents import exact_quotient
from tilewright.graph.types import Extent, Tensor

SUM, MEAN = 0, 1
"""ATen's numbers of what a bag becomes. Its largest elements are not compiled: which NaN counts depends on the order there."""


@lowers("aten._embedding_bag_forward_only.default", "aten._embedding_bag.default")
def bags(call: Call) -> tuple[Tensor | None, ...]:
    """What becomes of each bag; its other results are for gradients."""
    table, ids, padding = call.tensor("weight"), call.tensor("indices"), call["padding_idx"]
    count, length = _bags(call, ids)
    if call["mode"] not in (SUM, MEAN) or call["include_last_offset"] or 0 in (*table.shape, *ids.shape):
        raise call.refuse("bags of largest elements, or of none")
    rows = call.builder.reshape(along_dimension(call, table, ids, 0), (count, length, table.shape[1]))
    is_present = call.builder.map("not_equal", call.builder.reshape(ids, (count, length, 1)), float(padding))
    if padding >= 0:
        rows = call.map("where", is_present, rows, 0.0)
    weights = call.optional("per_sample_weights", table.dtype)
    if weights is not None:
        rows = call.map("multiply", rows, call.builder.reshape(weights, (count, length, 1)))
    if call["mode"] == SUM or padding < 0:
        return call.builder.reduce("sum" if call["mode"] == SUM else "mean", rows, (1,)), None, None, None
    counts = call.builder.reduce("sum", call.cast(is_present, "int64"), (1,))
    return call.body(divide(X, maximum(Y, 1)), call.builder.reduce("sum", rows, (1,)), counts), None, None, None


def _bags(call: Call, ids: Tensor) -> tuple[Extent, Extent]:
    """How many there are, and of how many rows: offsets count by that."""
    offsets = call.tensor("offsets")
    if len(ids.shape) != 1 or len(offsets.shape) != 1 or 0 in (*ids.shape, *offsets.shape):
        raise call.refuse("no bags")
    count = offsets.shape[0]
    length = exact_quotient(ids.shape[0], count)
    made = next((one for one in call.builder.operators if one.write.tensor == offsets.name), None)
    if not isinstance(length, int) or made is None:
        raise call.refuse("how long bags are is known at run time")
    if made.body != arange(count, 0, length, offsets.dtype, name="", result="")[0].body or made.reads:
        raise call.refuse("bags of several lengths")
    return count, length
