"""Axes of operators that are split, and those that are dropped.

Splits axes that maps read by quotient and remainder: t[p] = x[p // W, p % W] is t[h * W + w] = x[h, w], row by row.

Products of a single column lose its axis, so that rows lie side by side in the result: lanes then run along them.

`y[m, 0] = sum(k) a[m, k] * x[k, 0]` is a product of a matrix and a vector. With an axis of one point for its columns, a tile
would have one useful lane in eight. Maps of such results follow: operators that have their axes in common fuse. Results of other
types than float32 stay as they are: their micro kernels store columns of the last dimension only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.graph.index import FloorDiv, Index, Mod, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import AxisValue, subexpressions
from tilewright.graph.types import Access, Axis, Graph, Operator


@dataclass(frozen=True, slots=True)
class SplitAxes(Rewrite):
    """An axis of a map becomes two wherever fewer divisions are left then.

    The divisor divides the extent, so that quotient and remainder together take every value of the axis once; the body does not
    compute with the position along it, and no read is guarded.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with the axes of all maps split that can be."""
        return with_operators(graph, map(_split, graph.operators))


def _split(operator: Operator) -> Operator:
    if not operator.is_map():
        return operator
    divisions = _divisions(operator)
    for name, divisor in sorted(set(_candidates(operator))):
        split = with_digits(operator, name, divisor)
        if _divisions(split) < divisions:
            return _split(split)
    return operator


def _divisions(operator: Operator) -> int:
    """How many quotients and remainders its reads have."""
    return sum(not isinstance(atom, str) for access in operator.reads for index in access.indices for atom, _ in index.terms)


def _candidates(operator: Operator) -> Iterator[tuple[str, int]]:
    """The axes of which a read has the quotient or the remainder by a divisor of their extents."""
    used = {node.axis for node in subexpressions(operator.body) if isinstance(node, AxisValue)}
    for access in operator.reads if not any(access.guard is not None for access in operator.reads) else ():
        for index in access.indices:
            for atom, _ in index.terms:
                if isinstance(atom, FloorDiv | Mod) and atom.dividend.is_axis() and str(atom.dividend) not in used:
                    extent = operator.axis(str(atom.dividend)).extent
                    if isinstance(extent, int) and extent % atom.divisor == 0 and 1 < atom.divisor < extent:
                        yield str(atom.dividend), atom.divisor


def with_digits(operator: Operator, name: str, divisor: int) -> Operator:
    """The operator with two axes in place of one, whose extent is known: its quotient by a divisor, which keeps the name, and its
    remainder."""
    extent = operator.axis(name).extent
    assert isinstance(extent, int)
    taken = {axis.name for axis in operator.axes}
    inner = next(free for free in (f"{name}_{number}" for number in range(len(taken) + 1)) if free not in taken)
    axes: list[Axis] = []
    for axis in operator.axes:
        axes += [Axis(name, extent // divisor), Axis(inner, divisor)] if axis.name == name else [axis]
    extents = {axis.name: axis.extent for axis in axes if isinstance(axis.extent, int)}
    values = {name: axis_index(name) * divisor + axis_index(inner)}

    def changed(index: Index) -> Index:
        return index.substitute(values, extents)

    reads = tuple(access.mapped(changed) for access in operator.reads)
    return replace(operator, axes=tuple(axes), reads=reads, write=operator.write.mapped(changed))


@dataclass(frozen=True, slots=True)
class SingleColumns(Rewrite):
    """Legal for axes whose extent is known to be 1: their only position is 0. Tensors keep their shapes."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which no contraction writes an axis of one point last, nor a map of what such a contraction wrote."""
        changed: dict[str, Operator] = {}
        for operator in graph.operators:
            follows = operator.is_map() and any(access.tensor in changed for access in operator.reads)
            begins = operator.is_contraction() and graph.tensor(operator.write.tensor).dtype == operator.accumulator == "float32"
            without = _without_single_columns(operator) if begins or follows else operator
            if without is not operator:
                changed[operator.write.tensor] = without
        return with_operators(graph, (changed.get(operator.write.tensor, operator) for operator in graph.operators))


def _without_single_columns(operator: Operator) -> Operator:
    last = operator.write.innermost()
    if last is None or operator.axis(last).extent != 1 or len(operator.write.axes()) == 1:
        return operator
    if any(access.lookups for access in operator.reads) or _computes_with(operator, last):
        return operator
    axes = tuple(axis for axis in operator.axes if axis.name != last)
    reads = tuple(_at_zero(access, last) for access in operator.reads)
    return _without_single_columns(replace(operator, axes=axes, reads=reads, write=_at_zero(operator.write, last)))


def _computes_with(operator: Operator, axis: str) -> bool:
    """Whether the body has the position along an axis as a number."""
    return any(isinstance(node, AxisValue) and node.axis == axis for node in subexpressions(operator.body))


def _at_zero(access: Access, axis: str) -> Access:
    return access.mapped(lambda index: index.substitute({axis: constant(0)}))
