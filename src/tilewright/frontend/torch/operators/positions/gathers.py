"""Elements at positions that tensors give. Where torch refuses negative positions, so does the graph, when it runs."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.creation import filled, number_in
from tilewright.frontend.torch.operators.positions.index_changes import dimension
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.reshape import INDEX_TYPES, gather, gather_each, gather_elements
from tilewright.graph.expressions.extents import plus, times
from tilewright.graph.expressions.scalar import Literal, Load, apply, scalar_of
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import broadcast_shapes
from tilewright.graph.types import Extent, Tensor


@lowers("aten.embedding.default")
def embedded(call: Call) -> Tensor:
    """Rows of a table."""
    table = call.tensor("weight")
    return along_dimension(call, table, call.tensor("indices"), 0)


@lowers("aten.index_select.default")
def chosen(call: Call) -> Tensor:
    """Slices along a dimension at the positions of a vector."""
    x, ids = call.tensor("self"), call.tensor("index")
    if not x.shape:
        return call.builder.reshape(x, call.result.shape) if ids.shape in ((), (1,)) else _refused(call)
    ids = ids if ids.shape else call.builder.reshape(ids, (1,))
    return along_dimension(call, x, ids, dimension(call["dim"], len(x.shape)))


def _refused(call: Call) -> Tensor:
    raise call.refuse("positions in a tensor without dimensions")


def along_dimension(call: Call, x: Tensor, ids: Tensor, along: int) -> Tensor:
    """The slices of a tensor along a dimension at positions of which none is negative."""
    if 0 in call.result.shape:
        return filled(call, 0)
    where = checked_positions(call, ids, x.shape[along], takes_negative=False)
    return call.builder.record(gather, x, where, along, kind="gather")


def checked_positions(call: Call, ids: Tensor, extent: Extent, *, takes_negative: bool) -> Tensor:
    """Positions as gathers take them: known ones are checked, and negative ones lead outside unless they count from the end."""
    if ids.dtype not in INDEX_TYPES:
        raise call.refuse(f"positions of type {ids.dtype}")
    known = call.builder.known.get(ids.name)
    if known is not None and not known.dtype.hasobject and isinstance(extent, int):
        check_positions(known, extent, call.overload, least=None if takes_negative else 0)
        return ids
    if takes_negative or 0 in ids.shape:
        return ids
    ahead = apply("subtract", Load(0), scalar_of(extent))
    body = apply("where", apply("less", Load(0), Literal(0.0)), ahead, Load(0))
    return call.builder.body(body, ids, dtype=ids.dtype, kind="positions")


@lowers("aten.gather.default")
def gathered(call: Call) -> Tensor:
    """One element for every position, along a dimension."""
    x, ids = call.tensor("self"), call.tensor("index")
    if 0 in call.result.shape:
        return filled(call, 0)
    along = dimension(call["dim"], len(x.shape))
    x = x if x.shape else call.builder.reshape(x, (1,))
    ids = ids if ids.shape else call.builder.reshape(ids, (1,))
    where = checked_positions(call, ids, x.shape[along], takes_negative=False)
    return call.builder.reshape(call.builder.record(gather_elements, x, where, along, kind="gather"), call.result.shape)


@lowers("aten.take.default")
def taken(call: Call) -> Tensor:
    """Elements at positions in the order of rows."""
    x, ids = call.tensor("self"), call.tensor("index")
    if 0 in call.result.shape:
        return filled(call, 0)
    flat = call.builder.reshape(x, (-1,))
    where = checked_positions(call, ids, flat.shape[0], takes_negative=True)
    return call.builder.record(gather, flat, where, 0, kind="gather")


@lowers("aten.index.Tensor", "aten._unsafe_index.Tensor")
def indexed(call: Call) -> Tensor:
    """Elements at positions of some dimensions, which broadcast; between others they stand in the place of the first one."""
    x = call.tensor("self")
    if 0 in call.result.shape:
        return filled(call, 0)
    ids = positions_of(call, x)
    return call.builder.record(gather_each, x, ids, common_shape(ids), first_place(ids), kind="gather")


def positions_of(call: Call, x: Tensor) -> Mapping[int, Tensor]:
    """The tensors of positions of an index, by dimension. Raises `UnsupportedOperation` for truth values."""
    found: dict[int, Tensor] = {}
    for d, ids in enumerate(call["indices"]):
        if ids is not None:
            tensor = call.as_tensor(ids)
            if tensor.dtype in ("bool", "uint8"):
                raise UnsupportedOperation(call.overload, why="how many truth values are true is known at run time")
            found[d] = checked_positions(call, tensor, x.shape[d], takes_negative=True)
    return found


def common_shape(ids: Mapping[int, Tensor]) -> tuple[Extent, ...]:
    """What positions broadcast to."""
    return broadcast_shapes([tensor.shape for tensor in ids.values()], where="index")


def first_place(ids: Mapping[int, Tensor]) -> int:
    """How many other dimensions are before those of the positions: where these do not stand side by side, none."""
    dims = sorted(ids)
    return dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0


@lowers("aten._unsafe_masked_index.default")
def indexed_where(call: Call) -> Tensor:
    """Elements at positions, moved inside of the dimensions, where a mask holds; a number elsewhere."""
    x = call.tensor("self")
    if 0 in call.result.shape or 0 in x.shape:
        return filled(call, call["fill"])
    ids = {d: _moved_inside(call, call.as_tensor(ids), x.shape[d]) for d, ids in enumerate(call["indices"]) if ids is not None}
    found = call.builder.record(gather_each, x, ids, common_shape(ids), first_place(ids), kind="gather")
    return call.map("where", call.tensor("mask", "bool"), found, number_in(call, call["fill"], x.dtype))


def _moved_inside(call: Call, ids: Tensor, extent: Extent) -> Tensor:
    least, most = (scalar_of(end) for end in (times(extent, -1), plus(extent, -1)))
    if ids.dtype not in INDEX_TYPES:
        raise call.refuse(f"positions of type {ids.dtype}")
    body = apply("maximum", apply("minimum", Load(0), most), least)
    return call.builder.body(body, ids, dtype=ids.dtype, kind="positions")
