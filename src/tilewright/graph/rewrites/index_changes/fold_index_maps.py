"""Absorbs transposes, reshapes and slices into the accesses of the operators that read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tilewright.graph.exactness import BYTES
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Access, Graph, Operator, planned_extent


@dataclass(frozen=True, slots=True)
class FoldIndexMaps(Rewrite):
    """A consumer of an index change reads the change's source itself, wherever the composed access stays affine and unguarded.
    Two changes in a row always become one.

    Legal where the change's write is invertible, so that the place of an element says where its source lies, and its own read is
    not guarded. Indices are composed as functions of all integers: this holds for readers whose guards leave the tensor, too.

    Otherwise (dimensions merged by a reshape, padding) the change stays a copy operator of its own; so do changes that are
    outputs of the graph. Changes that nobody reads any more are left for the dead-code pass.
    """

    reorders_constants: bool = False
    """Whether a change that puts constants into another order stays: it is made once, and what reads it is as fast as can be."""
    turns_bytes: bool = False
    """Whether a change stays that puts the steps of a product of bytes side by side: micro kernels read these in groups."""

    def run(self, graph: Graph) -> Graph:
        """The graph with every foldable index change read through."""
        made = {operator.write.tensor for operator in constant_operators(graph)} if self.reorders_constants else set[str]()
        changes: dict[str, Operator] = {}
        operators = []
        for operator in graph.operators:
            folded = replace(operator, reads=tuple(self._seen(operator, access, changes, graph) for access in operator.reads))
            is_foldable = folded.is_index_change() and is_invertible(folded) and _keeps_type(folded, graph)
            if is_foldable and (folded.write.tensor not in made or _keeps_order(folded, graph)):
                changes[folded.write.tensor] = folded
            operators.append(folded)
        return with_operators(graph, operators)

    def _seen(self, operator: Operator, access: Access, changes: dict[str, Operator], graph: Graph) -> Access:
        """A read of the source of the change before it, or as it is."""
        through = _through(operator, access, changes)
        is_turned = self.turns_bytes and _reads_groups(operator, access, graph) and not _reads_groups(operator, through, graph)
        return access if is_turned else through


def _reads_groups(operator: Operator, access: Access, graph: Graph) -> bool:
    """Whether steps of a product of bytes are neighbours in the memory that is read."""
    steps = frozenset(axis.name for axis in operator.reduction_axes())
    is_product = operator.is_product_sum() and graph.tensor(access.tensor).dtype in BYTES
    return is_product and not access.lookups and access.indices[-1].is_axis() and access.indices[-1].axes() <= steps


def _keeps_type(operator: Operator, graph: Graph) -> bool:
    return graph.tensor(operator.reads[0].tensor).dtype == graph.tensor(operator.write.tensor).dtype


def _keeps_order(change: Operator, graph: Graph) -> bool:
    """Whether elements that follow each other in the result of a change do so in its source."""
    read, written = (_strides(access, graph) for access in (change.reads[0], change.write))
    order = sorted((axis.name for axis in change.axes if axis.extent != 1), key=lambda name: -written[name])
    return order == sorted(order, key=lambda name: -read.get(name, 0))


def _strides(access: Access, graph: Graph) -> dict[str, int]:
    """How far apart in memory neighbours along an axis are, of tensors whose extents are known."""
    shape = [planned_extent(extent) for extent in graph.tensor(access.tensor).shape]
    names = sorted(frozenset().union(*(index.axes() for index in access.indices)))
    steps = [prod(shape[d + 1 :]) for d in range(len(shape))]
    return {
        name: sum(index.coefficient(name) * step for index, step in zip(access.indices, steps, strict=True)) for name in names
    }


def _through(operator: Operator, access: Access, changes: dict[str, Operator]) -> Access:
    change = changes.get(access.tensor)
    if change is None or access.lookups or change.reads[0].guard is not None:
        return access
    source = composed(change.reads[0], consumer_positions(change, access), largest_extents(operator))
    if access.guard is not None:
        return replace(source, guard=access.guard) if source.is_affine() else access
    return source if source.is_affine() or operator.is_index_change() else access
