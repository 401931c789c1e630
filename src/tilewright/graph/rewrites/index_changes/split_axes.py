"""Splits axes that maps read by quotient and remainder: t[p] = x[p // W, p % W] is t[h * W + w] = x[h, w], row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.graph.index import FloorDiv, Index, Mod
from tilewright.graph.index import axis as axis_index
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import AxisValue, subexpressions
from tilewright.graph.types import Axis, Graph, Operator


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
