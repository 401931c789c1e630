"""Lets operators write where an index change behind them puts their results: heads beside each other, dimensions exchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph.index import FloorDiv, Index, Mod
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.fusion.weighted_sums import is_weighted_sum
from tilewright.graph.rewrites.rebuild import read_once, with_operators
from tilewright.graph.types import Access, Extent, Graph, Operator
from tilewright.graph.verifier import covers


@dataclass(frozen=True, slots=True)
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
        alone = read_once(graph)
        types = {tensor.name: tensor.dtype for tensor in graph.tensors}
        operators: dict[str, Operator] = {}
        for operator in graph.operators:
            source = operator.reads[0].tensor if operator.is_index_change() else ""
            if source in alone and source in operators and types[source] == types[operator.write.tensor]:
                write = _written(operators[source], operator)
                if write is not None and not (self.keeps_columns and _exchanges(operators[source], write)):
                    operator = replace(operators.pop(source), write=write)
            operators[operator.write.tensor] = operator
        return with_operators(graph, operators.values())


def _exchanges(producer: Operator, write: Access) -> bool:
    """Whether a contraction or a weighted sum that writes so has other columns."""
    has_columns = producer.is_contraction() or is_weighted_sum(producer)
    return has_columns and write.innermost() != producer.write.innermost()


@dataclass(frozen=True, slots=True)
class _Part:
    """A dimension of the source as a part of an axis of the change: `axis // step`, modulo the dimension's extent."""

    axis: str
    step: int
    divisor: int | None
    """Of the remainder; None where none is taken, because the quotient stays inside the dimension."""
    written: Index
    """By which the producer writes the dimension."""


def _written(producer: Operator, change: Operator) -> Access | None:
    """The write of a producer through an index change, None where the parts of a dimension do not make up the whole of it."""
    (read,) = change.reads
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
    total = Index()
    for part in parts:
        total = total + part.written * part.step
    return total


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
