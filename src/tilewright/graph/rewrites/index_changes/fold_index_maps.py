"""Index changes that readers, or the operator before them, do on their own.

Absorbs transposes, reshapes and slices into the accesses of the operators that read them.

Lets operators write where an index change behind them puts their results: heads beside each other, dimensions exchanged.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tilewright.graph.exactness import BYTES
from tilewright.graph.expressions.index import FloorDiv, Index, Mod
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.fusion.fuse_maps import is_weighted_sum
from tilewright.graph.rewrites.rebuild import with_joined, with_operators
from tilewright.graph.strides import memory_stride
from tilewright.graph.types import Access, Extent, Graph, Operator
from tilewright.graph.verifier import covers
from tilewright.records import record


@record
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
    picks_columns: bool = False
    """Whether a change stays that puts columns of a product side by side of which its source has every other, or fewer."""

    def run(self, graph: Graph) -> Graph:
        """The graph with every foldable index change read through."""
        made = {operator.write.tensor for operator in constant_operators(graph)} if self.reorders_constants else set[str]()
        changes: dict[str, Operator] = {}
        operators = []
        for operator in graph.operators:
            folded = operator.with_reads(partial(self._seen, operator, changes, graph))
            is_foldable = folded.is_index_change() and is_invertible(folded) and _keeps_type(folded, graph)
            if is_foldable and (folded.write.tensor not in made or _keeps_order(folded, graph)):
                changes[folded.write.tensor] = folded
            operators.append(folded)
        return with_operators(graph, operators)

    def _seen(self, operator: Operator, changes: dict[str, Operator], graph: Graph, access: Access) -> Access:
        """A read of the source of the change before it, or as it is."""
        through = _through(operator, access, changes)
        if through is access:
            return access
        is_turned = self.turns_bytes and _reads_groups(operator, access, graph) and not _reads_groups(operator, through, graph)
        is_picked = self.picks_columns and _column_step(operator, access) == 1 < _column_step(operator, through)
        return access if is_turned or is_picked else through


def _reads_groups(operator: Operator, access: Access, graph: Graph) -> bool:
    """Whether steps of a product of bytes are neighbours in the memory that is read."""
    if access.lookups or graph.tensor(access.tensor).dtype not in BYTES or not operator.is_product_sum():
        return False
    steps = {axis.name for axis in operator.reduction_axes()}
    return access.indices[-1].is_axis() and access.indices[-1].axes() <= steps


def _column_step(operator: Operator, access: Access) -> int:
    """How far apart neighbouring columns of a product lie in the last dimension that is read; 0 where they do not lie in it."""
    column = operator.write.innermost()
    return access.indices[-1].coefficient(column) if column and access.indices and operator.is_product_sum() else 0


def _keeps_type(operator: Operator, graph: Graph) -> bool:
    return graph.tensor(operator.reads[0].tensor).dtype == graph.tensor(operator.write.tensor).dtype


def _keeps_order(change: Operator, graph: Graph) -> bool:
    """Whether elements that follow each other in the result of a change do so in its source."""

    def by_stride(access: Access, names: list[str]) -> list[str]:
        shape = graph.tensor(access.tensor).shape
        return sorted(names, key=lambda name: -memory_stride(access, name, shape))

    order = by_stride(change.write, [axis.name for axis in change.axes if axis.extent != 1])
    return order == by_stride(change.reads[0], order)


def _through(operator: Operator, access: Access, changes: dict[str, Operator]) -> Access:
    change = changes.get(access.tensor)
    if change is None or access.lookups or change.reads[0].guard is not None:
        return access
    source = composed(change.reads[0], consumer_positions(change, access), largest_extents(operator))
    if access.guard is not None:
        return replace(source, guard=access.guard) if source.is_affine() else access
    return source if source.is_affine() or operator.is_index_change() else access


@record
class FoldWrites(Rewrite):
    """A transpose or a merging reshape that alone reads a result disappears into the write: for out[b, m, 64 * h + n] the product
    runs over b, h, m and n.

    Legal where every element of the source stands once in the result: what splits a dimension, leaves elements out or repeats
    them stays an operator of its own. So does what leaves no dimension in which an axis of one point could be written.
    """

    keeps_columns: bool = False
    """Whether the last dimension that a contraction or a weighted sum writes stays its last: planning reads the roles of axes
    from it, and the lanes of sums run along it."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which producers write what index changes made of their results."""

        def written(change: Operator, _: Access, producer: Operator) -> Operator | None:
            write = _written(producer, change, graph) if change.is_index_change() and _keeps_type(change, graph) else None
            if write is None or (self.keeps_columns and _exchanges(producer, write)):
                return None
            return replace(producer, write=write)

        return with_joined(graph, written)


def _exchanges(producer: Operator, write: Access) -> bool:
    """Whether a contraction or a weighted sum that writes so has other columns."""
    has_columns = producer.is_contraction() or is_weighted_sum(producer)
    return has_columns and write.innermost() != producer.write.innermost()


@record
class _Part:
    """A dimension of the source as a part of an axis of the change: `axis // step`, modulo the dimension's extent."""

    axis: str
    step: int
    divisor: int | None
    """Of the remainder; None where none is taken, because the quotient stays inside the dimension."""
    written: Index
    """By which the producer writes the dimension."""


def _written(producer: Operator, change: Operator, graph: Graph) -> Access | None:
    """The write of a producer through an index change, None where the parts of a dimension do not make up the whole of it."""
    (read,) = change.reads
    if _is_same(change, graph):
        return producer.write.of(change.write.tensor)
    if not all(index.is_axis() or index == Index() for index in change.write.indices):
        return None
    if read.guard is not None or read.lookups or not all(index.is_axis() or index == Index() for index in producer.write.indices):
        return None
    pairs = [(index, written) for index, written in zip(read.indices, producer.write.indices, strict=True) if written.terms]
    parts = [_part(index, written) for index, written in pairs if index != Index()]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or any(part.divisor not in (None, producer.axis(str(part.written)).extent) for part in known):
        return None
    single = [written for index, written in pairs if index == Index()]
    if any(producer.axis(str(written)).extent != 1 for written in single) or (single and not change.write.indices):
        return None
    fused = [_joined([part for part in known if index.axes() == {part.axis}]) for index in change.write.indices]
    indices = _with_single(fused, single, change)
    return Access(change.write.tensor, tuple(indices)) if _covers(producer, change, indices) else None


def _is_same(change: Operator, graph: Graph) -> bool:
    """Whether an index change leaves every element where it is."""
    (read,), written = change.reads, change.write
    has_all = graph.tensor(read.tensor).shape == graph.tensor(written.tensor).shape
    return has_all and read.indices == written.indices and read.guard is None and not read.lookups


def _with_single(indices: list[Index], single: list[Index], change: Operator) -> list[Index]:
    """The indices with axes of one point in them, which must be written: along dimensions of one element, or around others."""
    indices = list(indices)
    for axis in single:
        position = next((number for number, index in enumerate(indices) if index == Index()), 0)
        extent = _extent(change, position)
        if isinstance(extent, int):
            indices[position] = indices[position] + axis * extent
    return indices


def _part(index: Index, written: Index) -> _Part | None:
    """`d`, `d // c`, `d % e` or `d // c % e`."""
    if len(index.terms) != 1 or index.constant or index.terms[0][1] != 1:
        return None
    match index.terms[0][0]:
        case str(name):
            return _Part(name, 1, None, written)
        case FloorDiv(Index(((str(name), 1),), 0), step):
            return _Part(name, step, None, written)
        case Mod(Index(((str(name), 1),), 0), divisor):
            return _Part(name, 1, divisor, written)
        case Mod(Index(((FloorDiv(Index(((str(name), 1),), 0), step), 1),), 0), divisor):
            return _Part(name, step, divisor, written)
    return None


def _joined(parts: list[_Part]) -> Index:
    return sum((part.written * part.step for part in parts), Index())


def _covers(producer: Operator, change: Operator, indices: list[Index]) -> bool:
    """Whether every element of the result is written once."""
    extents = {axis.name: axis.extent for axis in producer.axes}
    written = {name for index in indices for name in index.axes()}
    whole = all(covers(index, _extent(change, position), extents) for position, index in enumerate(indices))
    return whole and written == producer.write.axes()


def _extent(change: Operator, dimension: int) -> Extent:
    """Of a dimension of the result."""
    index = change.write.indices[dimension]
    return change.axis(str(index)).extent if index.is_axis() else 1
