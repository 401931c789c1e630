"""Fusion into one row-wise reduction of the reductions and maps in which a function of whole rows is written out: softmax, norms.

What matters is the data flow. Reductions along the same axes of one tensor, and maps of their results and of the tensor's
elements, are states of one reduction, as long as nobody else reads what lies between.

Positive constant factors move out of what row-wise reductions read and into their reductions, where they cost nothing:
softmax(c * q k^T) takes the exponentials of c * (x - max x); the pass that multiplied is gone. The factor may stand on an operand
of a contraction, (c * q) k^T, or in front of a mask: where(kept, c * x, -inf) = c * where(kept, x, -inf).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import isinf

from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import (
    Apply,
    AxisValue,
    Literal,
    Load,
    Point,
    Scalar,
    State,
    apply,
    rewrite,
    subexpressions,
)
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_tensors
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.fusion.match_softmax_and_norms import is_known, matched_reduction
from tilewright.graph.rewrites.rebuild import read_once, with_operators, with_used_reads
from tilewright.graph.scaled_points import factor_and_rest, scaled_reduction
from tilewright.graph.types import Access, Axis, AxisKind, Graph, Operator, Reduction, StateVariable
from tilewright.records import record

MOST_OPERATORS = 16
"""How far a formula is followed: longer ones stay in pieces."""
MOST_REDUCTIONS = 2
"""In one formula; each of them is a pass over the row."""
MOST_STEPS_BACK = 2
"""Maps between a tensor and the reductions of its rows."""


@record
class FuseRowReductions(Rewrite):
    """A map of a tensor's elements and of reductions of its rows is computed with these reductions, row by row.

    Formulas that are known (softmax, layer norm, RMS norm) become those operators. Others are computed as they are written, but
    for the division by a value of the row, which is a product with its reciprocal.
    """

    matches_only: bool = False
    """Whether other formulas stay as they are."""
    exact: bool = False
    """Whether it fuses the formulas of which a discontinuous function reads a part, as they are written, and these alone."""

    @property
    def licence(self) -> Licence:
        """Divisions by values of rows become products, and formulas those of softmax and norms, unless it is exact."""
        return Licence.EXACT if self.exact else Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph with one operator for each such formula."""
        if self.exact and not any(tensor.needs_exact for tensor in graph.tensors):
            return graph
        flow = _Flow(graph)
        for operator in graph.operators:
            if flow.operators.get(operator.write.tensor) is operator and _is_plain_reduction(operator):
                flow.fuse(operator, matches_only=self.matches_only, exact=self.exact)
        return with_operators(graph, flow.operators.values()) if flow.fused else graph


@record
class _Value:
    """What a tensor holds, said of a base tensor's elements and of the states of its rows."""

    scalar: Scalar
    dimensions: tuple[str | None, ...]
    """The base's axis along each dimension; None along those of one element."""
    states: tuple[StateVariable, ...] = ()
    made: frozenset[str] = frozenset()
    """The tensors on the way from the base to here, this one included."""
    reductions: int = 0


class _Flow:
    """A graph by its tensors, while formulas in it are joined."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.fused = graph, False
        self.constants = constant_tensors(graph)
        """Tensors that do not change between calls: what is made of them alone is no part of a formula that does."""
        self.tensors = graph.by_name
        self.operators = {operator.write.tensor: operator for operator in graph.operators}
        """By what they write, in order."""
        self.positions = {tensor: position for position, tensor in enumerate(self.operators)}
        self.readers: dict[str, list[str]] = {}
        for operator in graph.operators:
            for tensor in {access.tensor for access in operator.reads}:
                self.readers.setdefault(tensor, []).append(operator.write.tensor)

    def fuse(self, operator: Operator, *, matches_only: bool, exact: bool) -> None:
        """Fuse the formula that an operator's reduction belongs to, if there is such a formula."""
        for base in self._bases(operator, MOST_STEPS_BACK):
            region = _Region(self, base)
            ends = (end for end in region.ends() if exact is any(self.tensors[name].needs_exact for name in end.made))
            fused = ((region.fused(end, exact), end) for end in ends)
            found = next((pair for pair in fused if is_known(pair[0]) or not matches_only), None)
            if found is not None:
                self._replace(found[0], found[1].made)
                return

    def _bases(self, operator: Operator, steps: int) -> Iterator[str]:
        """The tensors whose rows an operator may reduce, the nearest first."""
        tensors = dict.fromkeys(access.tensor for access in operator.reads)
        yield from tensors
        for tensor in tensors if steps else ():
            producer = self.operators.get(tensor)
            if producer is not None and producer.is_map():
                yield from self._bases(producer, steps - 1)

    def _replace(self, operator: Operator, made: frozenset[str]) -> None:
        for tensor in {access.tensor for name in made for access in self.operators[name].reads}:
            self.readers[tensor] = [reader for reader in self.readers[tensor] if reader not in made]
        for tensor in {access.tensor for access in operator.reads}:
            self.readers[tensor].append(operator.write.tensor)
        for tensor in made - {operator.write.tensor}:
            del self.operators[tensor]
        self.operators[operator.write.tensor] = operator
        self.fused = True


class _Region:
    """What follows from one tensor's elements and reductions of its rows alone, and from other tensors that are only read."""

    def __init__(self, flow: _Flow, base: str) -> None:
        self.flow = flow
        self.base = flow.tensors[base]
        self.extents = {f"d{dimension}": extent for dimension, extent in enumerate(self.base.shape)}
        self.reduced: frozenset[str] = frozenset()
        self.reductions = 0
        self.parameters: list[Access] = []
        self.values = {base: _Value(Point(), tuple(self.extents))}

    def ends(self) -> list[_Value]:
        """The values that end a formula: those of most reductions first, and of these the last ones."""
        found: list[_Value] = []
        for tensor in self._followers() if self.base.dtype == "float32" else ():
            value = self._value(self.flow.operators[tensor])
            if value is not None:
                self.values[tensor] = value
                if value.reductions and self._is_end(tensor, value):
                    found.insert(0, value)
        return sorted(found, key=lambda value: -value.reductions)

    def fused(self, value: _Value, exact: bool) -> Operator:
        """The row-wise reduction that makes a value; an exact one as it is written."""
        (tensor,) = (name for name, candidate in self.values.items() if candidate is value)
        like_base = [name is None for name in value.dimensions] == [extent == 1 for extent in self.base.shape]
        kept = [name for name, extent in self.extents.items() if extent != 1 or like_base]
        kinds = (AxisKind.REDUCTION if name in self.reduced else AxisKind.PARALLEL for name in kept)
        axes = tuple(Axis(name, self.extents[name], kind) for name, kind in zip(kept, kinds, strict=True))
        indices = tuple(axis_index(name) if name in kept else Index() for name in self.extents)
        pairs = zip(value.dimensions, self.extents, strict=True)  # results may be transposed
        names = tuple(axis if name is None else name for name, axis in pairs) if like_base else value.dimensions
        write = Access(tensor, tuple(Index() if name is None else axis_index(name) for name in names))
        reduction, reads = Reduction(value.states, value.scalar), (Access(self.base.name, indices), *self.parameters)
        fused = with_used_reads(Operator(self.flow.operators[tensor].name, "rows", axes, reads, write, Load(0), reduction))
        return fused if exact else matched_reduction(fused)

    def _followers(self) -> Iterator[str]:
        """The tensors made from known ones, in the graph's order; the caller makes them known."""
        waiting: list[tuple[int, str]] = []
        seen: set[str] = set()
        expanded: set[str] = set()
        while len(seen) < MOST_OPERATORS:
            for tensor in self.values.keys() - expanded:
                expanded.add(tensor)
                for reader in self.flow.readers.get(tensor, ()):
                    if reader in self.flow.operators and reader not in seen:
                        seen.add(reader)
                        heappush(waiting, (self.flow.positions[reader], reader))
            if not waiting:
                return
            yield heappop(waiting)[1]

    def _is_end(self, tensor: str, value: _Value) -> bool:
        """Whether a value has all the base's points, and nobody else reads, or returns, what it is made of."""
        inside = value.made - {tensor}
        needed = (reader for name in inside for reader in self.flow.readers.get(name, ()))
        whole = {name for name, extent in self.extents.items() if extent != 1} == {name for name in value.dimensions if name}
        if tensor not in self.flow.constants and not self.flow.constants.isdisjoint(inside):
            return False
        is_inside = value.made.issuperset(needed) and inside.isdisjoint(self.flow.graph.outputs)
        return whole and self.flow.operators[tensor].is_map() and is_inside

    def _value(self, operator: Operator) -> _Value | None:
        """What an operator makes of known values; None if it is no part of a formula of rows."""
        names = self._names(operator)
        fits = operator.accumulator == "float32" and self.flow.tensors[operator.write.tensor].dtype == "float32"
        if names is None or not fits or not (operator.is_map() or _is_plain_reduction(operator)):
            return None
        dimensions = tuple(_dimension(index, names) for index in operator.write.indices)
        if any(dimension == "" for dimension in dimensions):
            return None
        known = [self.values[access.tensor] for access in operator.reads if access.tensor in self.values]
        reduced = self._reduced(operator, names, known)
        if reduced is None:
            return None
        scalar, states = reduced
        made = frozenset((operator.write.tensor,)).union(*(part.made for part in known))
        reductions = sum(not self.flow.operators[name].is_map() for name in made)
        return _Value(scalar, dimensions, states, made, reductions) if reductions <= MOST_REDUCTIONS else None

    def _reduced(
        self, operator: Operator, names: Mapping[str, str | None], known: Sequence[_Value]
    ) -> tuple[Scalar, tuple[StateVariable, ...]] | None:
        """The value of an operator at a point or of a row, and the states that it needs; None if it reduces something else."""
        states = tuple(dict.fromkeys(state for part in known for state in part.states))
        point = self._body(operator, names)
        if operator.reduction is None:
            return point, states
        along = frozenset(name for axis in operator.reduction_axes() if (name := names.get(axis.name)))
        if not along or along != (self.reduced or along):
            return None
        self.reduced = along
        (state,) = operator.reduction.states
        self.reductions += 1
        name = f"{state.name}_{self.reductions}"
        values: dict[Scalar, Scalar] = {Point(): point, State(state.name): State(name)}
        renamed = StateVariable(name, state.identity, rewrite(state.contribution, values.get), state.combine)
        return rewrite(operator.reduction.finish, values.get), (*states, renamed)

    def _names(self, operator: Operator) -> dict[str, str | None] | None:
        """The base's axis of every axis of an operator, None for those of one point; None if it walks in another way."""
        found: dict[str, str | None] = {axis.name: None for axis in operator.axes if axis.extent == 1}
        known = [access for access in operator.reads if access.tensor in self.values]
        if operator.looked_up() or any(access.guard is not None for access in known):
            return None
        for access in known:
            for index, name in zip(access.indices, self.values[access.tensor].dimensions, strict=True):
                if name is not None and self.extents[name] != 1 and not self._walks(operator, index, name, found):
                    return None
        wide = [name for name in found.values() if name is not None]
        return found if len(set(wide)) == len(wide) and found.keys() == {axis.name for axis in operator.axes} else None

    def _walks(self, operator: Operator, index: Index, name: str, found: dict[str, str | None]) -> bool:
        """Whether an operator goes through all of a dimension by an axis that goes through no other one."""
        if not index.is_axis() or operator.axis(str(index)).extent != self.extents[name]:
            return False
        return found.setdefault(str(index), name) == name

    def _body(self, operator: Operator, names: Mapping[str, str | None]) -> Scalar:
        """A body in which known values stand for what is read of them."""
        leaves: dict[Scalar, Scalar] = {
            AxisValue(axis): AxisValue(name) if name else Literal(0.0) for axis, name in names.items()
        }
        for number, access in enumerate(operator.reads):
            value = self.values.get(access.tensor)
            leaves[Load(number)] = self._other(access, names) if value is None else value.scalar
        return rewrite(operator.body, leaves.get)

    def _other(self, access: Access, names: Mapping[str, str | None]) -> Load:
        """A read of another tensor; read 0 is that of the base."""
        values = {axis: Index() if name is None else axis_index(name) for axis, name in names.items()}
        moved = access.mapped(lambda index: index.substitute(values))
        if moved not in self.parameters:
            self.parameters.append(moved)
        return Load(self.parameters.index(moved) + 1)


def _dimension(index: Index, names: Mapping[str, str | None]) -> str | None:
    """The base's axis that a dimension is written along, None for one element, "" for anything else."""
    if not index.terms:
        return None
    return names[str(index)] if index.is_axis() else ""


def _is_plain_reduction(operator: Operator) -> bool:
    """Whether it carries one state and writes a value for each row."""
    if operator.reduction is None or operator.is_product_sum() or len(operator.reduction.states) != 1:
        return False
    return not operator.reduction.rescales and not any(axis.name in operator.write.axes() for axis in operator.reduction_axes())


class FoldScales(Rewrite):
    """A map that only multiplies is left without a reader. Results are those of exact arithmetic, rounded elsewhere.

    Only tensors in float32 that nobody else reads change their values: what is never read at all is removed before.
    """

    licence = Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph in which row-wise reductions multiply differences of points by what stood in front of the points."""
        free = read_once(graph) & {tensor.name for tensor in graph.tensors if tensor.dtype == "float32"}
        operators = {operator.write.tensor: operator for operator in graph.operators}
        for operator in graph.operators:
            if operator.is_row_reduction() and operator.reduction is not None and operator.body == Load(0):
                factor, access, changed = _without_factor(operator, operator.reads[0], operators, free)
                reduction = scaled_reduction(operator.reduction, factor) if factor != 1 else None
                group = [operator, *(operators[tensor] for tensor in changed)]
                if reduction is not None and self.licence.permits_operators(group, graph.by_name):
                    reads = (access, *operator.reads[1:])  # its states and its finish may load the others
                    operators |= {**changed, operator.write.tensor: replace(operator, reads=reads, reduction=reduction)}
        return with_operators(graph, operators.values())


Found = tuple[float, Access, dict[str, Operator]]
"""A factor, the access of what is left without it, and the operators that then make it, by the tensors they write."""


def _without_factor(reader: Operator, access: Access, operators: Mapping[str, Operator], free: set[str]) -> Found:
    """What `access`, by which `reader` reads, gives is this factor times what the new access gives."""
    producer = operators.get(access.tensor)
    if producer is None or access.guard is not None or access.lookups or access.tensor not in free:
        return 1.0, access, {}
    factor, body = _factored(producer.body)
    changed: dict[str, Operator] = {}
    reads = list(producer.reads)
    for read in _proportional_reads(replace(producer, body=body)):
        read_factor, reads[read], deeper = _without_factor(producer, reads[read], operators, free)
        factor, changed = factor * read_factor, changed | deeper
    if factor == 1 or not (producer.is_map() or producer.is_product_sum()):
        return 1.0, access, {}
    if body == Load(0) and producer.is_map():
        source = _through(reader, producer, reads[0], access)
        if source is not None:
            return factor, source, changed
    return factor, access, {**changed, access.tensor: replace(producer, reads=tuple(reads), body=body)}


def _through(reader: Operator, producer: Operator, read: Access, access: Access) -> Access | None:
    """What is left of a map that only copies, read by its reader itself; None where that would divide, or where it cannot be."""
    if not is_invertible(producer) or read.guard is not None or read.lookups:
        return None
    source = composed(read, consumer_positions(producer, access), largest_extents(reader))
    return source if source.is_affine() else None


def _proportional_reads(operator: Operator) -> tuple[int, ...]:
    """The reads, one by one, to which what an operator makes is proportional."""
    if operator.is_product_sum():
        return 0, 1
    match operator.body if operator.is_map() else None:
        case Load(read):
            return (read,)
        case Apply("where", (condition, Load(read) as kept, Literal(value))) if _stays(value):
            return () if kept in subexpressions(condition) else (read,)
    return ()


def _factored(body: Scalar) -> tuple[float, Scalar]:
    """A positive constant and what it is multiplied by, from in front of an expression and of what a mask keeps."""
    factor, rest = factor_and_rest(body)
    match rest:
        case Apply("where", (condition, kept, Literal(value))) if _stays(value):
            inner_factor, kept = _factored(kept)
            return factor * inner_factor, apply("where", condition, kept, Literal(value))
        case _ if factor != 1:
            inner_factor, rest = _factored(rest)
            return factor * inner_factor, rest
    return factor, rest


def _stays(value: float) -> bool:
    """Whether a value times any positive factor is itself."""
    return value == 0 or isinf(value)
