"""Dimensions of tensors in another order: every access follows, and no element is moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from tilewright.graph.types import Access, Graph, Tensor

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
    operators = tuple(
        replace(
            operator, reads=tuple(_reordered(read, orders) for read in operator.reads), write=_reordered(operator.write, orders)
        )
        for operator in graph.operators
    )
    return replace(graph, tensors=tuple(_tensor(tensor, orders) for tensor in graph.tensors), operators=operators)


def _tensor(tensor: Tensor, orders: Mapping[str, Order]) -> Tensor:
    order = orders.get(tensor.name)
    if order is None:
        return tensor
    magnitudes = tensor.magnitudes and tensor.magnitudes.reordered(order)
    entries = tensor.entries and tuple(tensor.known_values().transpose(order).ravel().tolist())
    return replace(tensor, shape=tuple(tensor.shape[place] for place in order), magnitudes=magnitudes, entries=entries)


def _reordered(access: Access, orders: Mapping[str, Order]) -> Access:
    order = orders.get(access.tensor)
    if order is None:
        return access
    lookups = tuple((order.index(dimension), read) for dimension, read in access.lookups)
    return replace(access, indices=tuple(access.indices[place] for place in order), lookups=lookups)
