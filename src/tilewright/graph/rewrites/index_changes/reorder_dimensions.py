"""Dimensions of tensors in another order.

Dimensions of tensors in another order: every access follows, and no element is moved.

Maps of integers write in the order in which they read; who reads their results turns them, in registers of floats.

Sums of integers come out of a matrix product with filters last, and zero points are taken out of them before they become floats.
Vectors of integers have no way to transpose, vectors of floats do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import TypeAlias

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_tensors
from tilewright.graph.strides import memory_stride
from tilewright.graph.types import Access, Graph, Operator, Tensor
from tilewright.records import record, replace

Order: TypeAlias = tuple[int, ...]
"""For each dimension of the new shape, the dimension that it was."""


def with_orders(graph: Graph, orders: Mapping[str, Order]) -> Graph:
    """The graph with the dimensions of some tensors in other orders.

    Legal for every tensor that the graph's operators alone see; callers see the dimensions of inputs, outputs and constants.

    >>> from tilewright.frontend.tracing.trace import TensorSpec, trace
    >>> import tilewright as tw
    >>> graph = trace(lambda x: tw.exp(tw.relu(x)), [TensorSpec((2, 3, 5))])
    >>> name = graph.operators[0].write.tensor
    >>> changed = with_orders(graph, {name: (0, 2, 1)})
    >>> changed.tensor(name).shape, [str(index) for index in changed.operators[1].reads[0].indices]
    ((2, 5, 3), ['d0', 'd2', 'd1'])
    """
    if not orders:
        return graph
    changed = {tensor.name: _tensor(tensor, orders[tensor.name]) for tensor in graph.tensors if tensor.name in orders}
    return with_tensors(graph, changed, lambda access, _: _reordered(access, orders[access.tensor]))


def _tensor(tensor: Tensor, order: Order) -> Tensor:
    magnitudes = tensor.magnitudes and tensor.magnitudes.reordered(order)
    entries = tensor.entries and tuple(tensor.known_values().transpose(order).ravel().tolist())
    return replace(tensor, shape=tuple(tensor.shape[place] for place in order), magnitudes=magnitudes, entries=entries)


def _reordered(access: Access, order: Order) -> Access:
    lookups = tuple((order.index(dimension), read) for dimension, read in access.lookups)
    return replace(access, indices=tuple(access.indices[place] for place in order), lookups=lookups)


@record
class IntegersInOrder(Rewrite):
    """Legal for every tensor that the graph's operators alone see: not for `ends`, inputs and outputs. All accesses follow."""

    ends: Collection[str] = ()

    def run(self, graph: Graph) -> Graph:
        """The graph in which no map in int32 moves elements from one order into another, if it may do otherwise."""
        fixed = {*self.ends, *graph.inputs, *graph.outputs}
        orders: dict[str, Order] = {}
        for operator in graph.operators:
            if operator.write.tensor not in fixed and operator.is_map() and operator.accumulator == "int32":
                order = _order_read(operator, graph)
                if order is not None:
                    orders[operator.write.tensor] = order
        changed = with_orders(graph, orders)
        operators = tuple(_with_outer_axes_first(op) if op.write.tensor in orders else op for op in changed.operators)
        return replace(changed, operators=operators)


def _with_outer_axes_first(operator: Operator) -> Operator:
    """A map whose axes are in the order of the dimensions that it writes: blocks are cut along the first."""
    place = {str(index): dim for dim, index in enumerate(operator.write.indices)}
    return replace(operator, axes=tuple(sorted(operator.axes, key=lambda axis: place.get(axis.name, -1))))


def _order_read(operator: Operator, graph: Graph) -> Order | None:
    """The order of a result's dimensions in which the read of all of its elements walks memory; None where it is that already."""
    if not all(index.is_axis() or not index.terms for index in operator.write.indices):
        return None
    wide = {axis.name for axis in operator.axes if axis.extent != 1}
    whole = [read for read in operator.reads if read.is_affine() and wide <= read.axes()]
    if len(whole) != 1 or not all(isinstance(extent, int) for extent in graph.tensor(whole[0].tensor).shape):
        return None
    names, shape = [str(index) for index in operator.write.indices], graph.tensor(whole[0].tensor).shape
    strides = [memory_stride(whole[0], name, shape) if name in wide else inf for name in names]
    order = tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))
    walked = [dim for dim in order if names[dim] in wide]
    return order if walked != sorted(walked) else None
