"""Fusible groups: operators of a graph connected by edges that can be fused, and why every other edge is cut.

A tensor with several readers and an output of the graph go through memory; so does what its writer or a reader cannot keep in
vectors, and what is written or looked up at other positions than those of plain axes. A tensor that merges axes may stay inside
a chain, if an operator that only moves elements writes it and another dimension of it is one parallel axis of its writer and its
readers: a loop over that axis holds them, and dimensions that merge axes are held whole.

A contraction and the maps that its micro tiles apply are one chain without comparison: maps that read and write like the sums,
each in the same order, do in registers what they would do in a pass of their own, which reads the sums and writes them back
besides. They may cost more where the sums lose blocks for threads by them, or do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import prod

from tilewright.graph.expressions.index import Index
from tilewright.graph.types import AxisKind, Chain, Graph, Operator, Tensor, planned_extent
from tilewright.plan.chains import canonical_chain, make_chain
from tilewright.plan.decisions.exact_operators import why_stored
from tilewright.plan.reasons import Barrier, CannotFuse
from tilewright.plan.regions import gathered_reads as lookups
from tilewright.plan.regions.epilogues import IN_TILES_ALONE, passed_in_tiles
from tilewright.plan.threads import LEAST_PARALLEL_S, enough_blocks
from tilewright.plan.types import Price, TermKind

Operators = tuple[Operator, ...]

MOST_GROUPED = 64
"""Operators of a group that ends in a contraction; other groups have up to twice as many. Beyond, a chain gains nothing by one
more operator, while planning a group takes more than twice the time for twice the operators."""


@dataclass(slots=True)
class DataFlow:
    """Who writes and reads each tensor of a graph, and where operators stand in it."""

    graph: Graph
    held_types: frozenset[str] = frozenset()
    """Element types that stay inside of chains whatever computes them."""
    writers: dict[str, Operator] = field(default_factory=dict)
    """By the tensor that they write."""
    readers: dict[str, list[Operator]] = field(default_factory=dict)
    """By the tensor that they read."""
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    """By name."""
    positions: dict[str, int] = field(default_factory=dict)
    """Of every operator in the graph."""
    in_tiles: frozenset[str] = frozenset()
    """Tensors that no vector loop holds and that need no memory, once barriers were asked for."""

    def __post_init__(self) -> None:
        self.tensors = {tensor.name: tensor for tensor in self.graph.tensors}
        for position, operator in enumerate(self.graph.operators):
            self.positions[operator.name] = position
            self.writers[operator.write.tensor] = operator
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                self.readers.setdefault(tensor, []).append(operator)

    def in_order(self, operators: Iterable[Operator]) -> Operators:
        """Operators in the order of the graph."""
        return tuple(sorted(operators, key=lambda operator: self.positions[operator.name]))

    def ends(self, tensor: str) -> Operators:
        """The writer of a tensor and its readers."""
        return (self.writers[tensor], *self.readers[tensor])

    def only_reader(self, operator: Operator) -> Operator | None:
        """The operator that alone reads a result; None of outputs of the graph."""
        tensor = operator.write.tensor
        readers = self.readers.get(tensor, [])
        return readers[0] if len(readers) == 1 and tensor not in self.graph.outputs else None

    def maps_behind(self, operator: Operator) -> Iterator[Operator]:
        """The maps that follow an operator and have as many points.

        A concatenation is not priced with the small part of it that an operator computes.
        """
        points = self.points(operator)
        return takewhile(lambda reader: self.points(reader) == points, self._maps_that_follow(operator))

    def _maps_that_follow(self, operator: Operator) -> Iterator[Operator]:
        """Maps behind an operator, as long as each is the only reader of the result before it."""
        reader = self.only_reader(operator)
        while reader is not None and reader.is_map():
            yield reader
            reader = self.only_reader(reader)

    def points(self, operator: Operator) -> int:
        """Elements of the tensor that an operator writes to."""
        return prod(map(planned_extent, self.tensors[operator.write.tensor].shape))

    def barriers(self) -> dict[str, CannotFuse]:
        """By tensor between operators that cannot stay inside a chain: why."""
        self.in_tiles = self._in_tiles()
        between = (tensor for tensor in self.readers if tensor in self.writers)
        found = ((tensor, self._barrier(tensor)) for tensor in between)
        barriers = {tensor: reason for tensor, reason in found if reason is not None}
        return barriers | self._ends_of_long_groups(barriers)

    def _ends_of_long_groups(self, barriers: Mapping[str, CannotFuse]) -> dict[str, CannotFuse]:
        """The tensors between a group that has as many operators as are planned together and its reader."""
        lengths: dict[str, int] = {}
        found: dict[str, CannotFuse] = {}
        for operator in self.graph.operators:
            length, most = 1, MOST_GROUPED if operator.is_contraction() else 2 * MOST_GROUPED
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                if tensor not in lengths or tensor in barriers:
                    continue
                if length + lengths[tensor] > most:
                    found[tensor] = CannotFuse(Barrier.LONG_GROUP)
                else:
                    length += lengths[tensor]
            lengths[operator.write.tensor] = length
        return found

    def _barrier(self, tensor: str) -> CannotFuse | None:
        if tensor in self.graph.outputs:
            return CannotFuse(Barrier.GRAPH_OUTPUT)
        writer, readers = self.writers[tensor], self.readers[tensor]
        is_held = tensor in self.in_tiles or self.tensors[tensor].dtype in self.held_types
        reason = None if is_held else why_stored(self.tensors, tensor, [writer, *readers])
        if reason is not None:
            return reason
        is_merged = any(index.terms and not index.is_axis() for index in writer.write.indices)
        if is_merged and not _has_dimension_to_block(writer, readers):
            return CannotFuse(Barrier.MERGED_DIMENSION, (writer.name,))
        if reason := lookups.why_stored(readers, tensor):
            return reason
        return CannotFuse(Barrier.SEVERAL_READERS, tuple(op.name for op in readers)) if len(readers) > 1 else None

    def _in_tiles(self) -> frozenset[str]:
        """Sums, and what maps make of them, that stay in micro tiles where no other loop holds them."""
        sums = (operator for operator in self.graph.operators if operator.is_contraction())
        products = (operator for operator in sums if operator.accumulator in IN_TILES_ALONE)
        chains = (make_chain(self.graph, (product, *self._maps_that_follow(product))) for product in products)
        return frozenset(tensor for chain in chains for tensor in passed_in_tiles(chain))


def _has_dimension_to_block(writer: Operator, readers: Iterable[Operator]) -> bool:
    """Whether an operator only moves elements, and a dimension of its result is one parallel axis of it and of all readers."""
    reads = [(reader, read.indices) for reader in readers for read in reader.reads if read.tensor == writer.write.tensor]
    return writer.is_index_change() and any(
        all(_is_walked_alone(operator, indices[dimension]) for operator, indices in [(writer, writer.write.indices), *reads])
        for dimension in range(len(writer.write.indices))
    )


def _is_walked_alone(operator: Operator, index: Index) -> bool:
    """Whether an index is a parallel axis of several points."""
    axes = [operator.axis(axis) for axis in index.axes()] if index.is_axis() else []
    return any(axis.kind is AxisKind.PARALLEL and axis.extent != 1 for axis in axes)


@dataclass(frozen=True, slots=True)
class Group:
    """Operators of a graph that can be fused."""

    operators: Operators
    chain: Chain
    """Canonical."""


def fusible_groups(flow: DataFlow, barriers: Mapping[str, CannotFuse]) -> tuple[Group, ...]:
    """Operators connected by edges without a barrier: every operator of the graph is in one group."""
    return tuple(Group(operators, canonical_chain(flow.graph, operators)) for operators in _connected(flow, barriers))


def _connected(flow: DataFlow, barriers: Mapping[str, CannotFuse]) -> Iterator[Operators]:
    members: dict[str, list[Operator]] = {}
    """By the only tensor of a group that others may read: the last one."""
    for operator in flow.graph.operators:
        group = [operator]
        for tensor in dict.fromkeys(access.tensor for access in operator.reads):
            if tensor in flow.writers and tensor not in barriers:
                group = [*members.pop(tensor), *group]
        members[operator.write.tensor] = group
    return (flow.in_order(group) for group in members.values())


def loses_nothing(price: Price, cores: int) -> bool:
    """Whether a chain of such a group fits, and threads have enough blocks of it."""
    fits = all(term.kind is not TermKind.SPILLS for term in price.terms)
    return fits and (price.blocks >= enough_blocks(cores) or price.seconds <= LEAST_PARALLEL_S)


def are_alike(first: Operator, *maps: Operator) -> bool:
    """Whether maps behind a contraction write in the order in which it would, and read so, or along one dimension at most."""
    written = first.write.indices
    return first.is_contraction() and all(
        map_.is_map()
        and map_.write.indices == written
        and all(access.indices == written or _is_broadcast(access.indices, written) for access in map_.reads)
        for map_ in maps
    )


def _is_broadcast(read: Sequence[Index], written: Sequence[Index]) -> bool:
    """Whether elements are read along one of the dimensions that are written, or none."""
    terms = [index for index in read if index.terms]
    return len(terms) == 0 or (len(terms) == 1 and terms[0] in written)
