"""Copies in which elements at fixed places are others: at a position, in a range, on a diagonal."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.creation import on_diagonal
from tilewright.frontend.torch.operators.positions.index_changes import dimension, part
from tilewright.frontend.torch.operators.positions.joins import join
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders import slicing
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.builders.slicing import from_front
from tilewright.graph.expressions.extents import minus, plus
from tilewright.graph.expressions.index import axis, constant, floordiv
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply, fold, scalar_of
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Access, Extent, Guard, Operator, Tensor


@lowers("aten.select_scatter.default")
def one_position(call: Call) -> Tensor:
    """A tensor with another one at a position along a dimension."""
    x, source = call.tensor("self"), call.tensor("src", call.result.dtype)
    along = dimension(call["dim"], len(x.shape))
    place = from_front(call["index"], x.shape[along])
    return call.builder.record(_at_position, x, source, along, place, kind="select_scatter")


def _at_position(x: Tensor, source: Tensor, along: int, place: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    everywhere = points(len(x.shape))
    reads = [Access(source.name, (*everywhere[:along], *everywhere[along + 1 :])), Access(x.name, everywhere)]
    is_there = apply("equal", AxisValue(f"d{along}"), scalar_of(place))
    return map_of("select_scatter", x.shape, reads, apply("where", is_there, Load(0), Load(1)), x.dtype, name, result)


@lowers("aten.slice_scatter.default")
def one_range(call: Call) -> Tensor:
    """A tensor with another one in a range along a dimension."""
    x, source, step = call.tensor("self"), call.tensor("src", call.result.dtype), call["step"]
    along = dimension(call["dim"], len(x.shape))
    if source.shape == x.shape:
        return source
    start, _, _ = slicing.range_of_slice(slice(call["start"], call["end"], step), x.shape[along])
    length = source.shape[along]
    if length == 0 or 0 in x.shape:
        return x
    if step == 1:
        stop = plus(start, length)
        behind = part(call, x, along, stop, minus(x.shape[along], stop))
        return join(call, [part(call, x, along, 0, start), source, behind], along)
    if not are_known((start, length)):
        raise call.refuse("a range in steps is known at run time")
    return call.builder.record(_in_steps, x, source, along, start, step, kind="slice_scatter")


def _in_steps(x: Tensor, source: Tensor, along: int, start: int, step: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    everywhere, length = points(len(x.shape)), source.shape[along]
    assert isinstance(length, int)
    ahead, last = axis(f"d{along}") - start, (length - 1) * step
    guard = Guard((ahead, constant(last) - ahead), 0.0)
    indices = tuple(floordiv(ahead, step) if d == along else index for d, index in enumerate(everywhere))
    position = AxisValue(f"d{along}")
    limits: list[Scalar] = [apply("greater_equal", position, Literal(float(start)))]
    limits.append(apply("less_equal", position, Literal(float(start + last))))
    limits.append(apply("equal", apply("mod", position, Literal(float(step))), Literal(float(start % step))))
    reads = [Access(source.name, indices, guard), Access(x.name, everywhere)]
    body = apply("where", fold("logical_and", limits), Load(0), Load(1))
    return map_of("slice_scatter", x.shape, reads, body, x.dtype, name, result)


@lowers("aten.diagonal_scatter.default")
def one_diagonal(call: Call) -> Tensor:
    """A tensor with other elements on a diagonal of two dimensions."""
    x, source = call.tensor("self"), call.tensor("src", call.result.dtype)
    along = dimension(call["dim1"], len(x.shape)), dimension(call["dim2"], len(x.shape))
    if 0 in source.shape:
        return x
    return call.builder.record(on_diagonal, source, x, x.shape, along, call["offset"], kind="diagonal_scatter")
