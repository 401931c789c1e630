"""Composition of accesses and bodies: what a consumer reads and does when it computes an element of a map's result by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import is_

from tilewright.errors import InternalError
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.expressions.index import Atom, FloorDiv, Index, Mod, with_natural_dividends
from tilewright.graph.expressions.scalar import (
    AxisValue,
    Literal,
    Load,
    Scalar,
    apply,
    fold,
    rewrite,
    scalar_of,
    subexpressions,
    with_loads,
)
from tilewright.graph.types import Access, Operator, largest_extent


def consumer_positions(producer: Operator, access: Access) -> dict[str, Index]:
    """Where each axis of `producer`, which must be invertible, stands when a consumer reads its result by `access`.

    An axis that is left out would pass for the consumer's axis of the same name.
    """
    if not is_invertible(producer):
        raise InternalError(f"{producer.name} is read through, but the place of an element does not say which point it is")
    pairs = zip(producer.write.indices, access.indices, strict=True)
    return {str(written): read for written, read in pairs if written.is_axis()}


def is_invertible(producer: Operator) -> bool:
    """Whether every axis is a dimension of what `producer` writes, so that the place of an element says which point it is."""
    plain = {index.terms[0][0] for index in producer.write.indices if index.is_axis()}
    return producer.axis_names <= plain


def largest_extents(operator: Operator) -> dict[str, int]:
    """The extent of every axis of an operator, symbolic ones at their highest: what simplification may rely on."""
    return {axis.name: largest_extent(axis.extent) for axis in operator.axes}


def composed(source: Access, positions: Mapping[str, Index], extents: Mapping[str, int]) -> Access:
    """An unguarded read of the producer in terms of the consumer's axes.

    >>> from tilewright.graph.expressions.index import axis
    >>> str(composed(Access("x", (axis("i") * 2,)), {"i": axis("m") + 1}, {"m": 8}).indices[0])
    '2*m + 2'
    """
    return Access(source.tensor, tuple(index.substitute(positions, extents) for index in source.indices))


def inlined(operator: Operator, producers: Mapping[str, Operator]) -> Operator:
    """An operator that computes, wherever it reads without a guard what one of these maps writes, the map's body itself.

    The maps have no lookups. What lookups read, and what they look in, stays a tensor; so does what is made of positions that
    the operator's own axes do not give exactly. Finishes of reductions load, too: norms read gain and shift there.
    """
    tensors = {access.tensor for access in operator.reads}
    if tensors.isdisjoint(producers) and len(tensors) == len(operator.reads) and not operator.looked_up():
        return operator
    reads: list[Access] = []
    values: dict[int, Scalar] = {}
    looked_up = operator.looked_up()
    for number in sorted(range(len(operator.reads)), key=lambda read: (bool(operator.reads[read].lookups), read)):
        access, body = _looking_up(operator.reads[number], values), None
        producer = producers.get(access.tensor)
        if producer is not None and access.guard is None and not access.lookups and number not in looked_up:
            positions, extents = consumer_positions(producer, access), largest_extents(operator)
            body = _at(producer.body, positions, extents)
        if producer is None or body is None:
            values[number] = Load(_number_of(access, reads))
        else:
            inner = [_number_of(composed(read, positions, extents), reads) for read in producer.reads]
            values[number] = with_loads(body, {old: Load(new) for old, new in enumerate(inner)})
    if len(reads) == len(operator.reads) and all(map(is_, reads, operator.reads)):
        return operator
    return replace(operator, reads=tuple(reads)).with_scalars(lambda scalar: with_loads(scalar, values))


def _at(body: Scalar, positions: Mapping[str, Index], extents: Mapping[str, int]) -> Scalar | None:
    """A body whose axes stand at the reader's positions; None if these are not exact.

    An axis that the write lacks has extent 1.
    """
    used = {node.axis for node in subexpressions(body) if isinstance(node, AxisValue)}
    moved = {axis: with_natural_dividends(positions.get(axis, Index()), extents) for axis in used}
    if any(_largest(index, extents) > LARGEST_WHOLE for index in moved.values()):
        return None
    return rewrite(body, lambda node: position_value(moved[node.axis]) if isinstance(node, AxisValue) else None)


def _largest(index: Index, extents: Mapping[str, int]) -> int:
    """A bound of every number on the way to the value of an index, divisions included."""
    return abs(index.constant) + sum(abs(factor) * _largest_of_atom(atom, extents) for atom, factor in index.terms)


def _largest_of_atom(atom: Atom, extents: Mapping[str, int]) -> int:
    match atom:
        case str():
            return extents[atom]
        case SymbolicExtent():
            return atom.high
        case FloorDiv(dividend) | Mod(dividend):
            return _largest(dividend, extents)


def _number_of(access: Access, reads: list[Access]) -> int:
    if access not in reads:
        reads.append(access)
    return reads.index(access)


def _looking_up(access: Access, values: Mapping[int, Scalar]) -> Access:
    """An access whose lookups are made by the reads that stand for the old ones."""
    if not access.lookups:
        return access
    new = {number: value.read for number, value in values.items() if isinstance(value, Load)}
    return replace(access, lookups=tuple((dimension, new[number]) for dimension, number in access.lookups))


def position_value(index: Index) -> Scalar:
    """An index as a number: what the position along a producer's axis is in terms of the consumer's axes.

    Nothing on the way is negative: unsigned integers cannot be, and divisions of integers round toward zero. In float32,
    quotients of whole numbers up to 2^24 are exact when they are rounded down: they stay further from the next whole number
    than their rounding reaches.

    >>> from tilewright.graph.expressions.index import axis
    >>> position_value(axis("m") + 1)
    Apply(function='add', operands=(AxisValue(axis='m'), Literal(value=1.0)))
    """
    terms = [(_atom_value(atom), coefficient) for atom, coefficient in index.terms]
    more = [_times(value, coefficient) for value, coefficient in terms if coefficient > 0]
    less = [_times(value, -coefficient) for value, coefficient in terms if coefficient < 0]
    if index.constant < 0:
        less.append(Literal(float(-index.constant)))
    elif index.constant or not more:
        more.append(Literal(float(index.constant)))
    return fold("subtract", [fold("add", more), *less])


def _atom_value(atom: Atom) -> Scalar:
    match atom:
        case SymbolicExtent():
            return scalar_of(atom)
        case str():
            return AxisValue(atom)
        case FloorDiv(dividend, divisor):
            return apply("floor", apply("divide", position_value(dividend), Literal(float(divisor))))
        case Mod(dividend, divisor):
            whole = _times(_atom_value(FloorDiv(dividend, divisor)), divisor)
            return apply("subtract", position_value(dividend), whole)


def _times(value: Scalar, factor: int) -> Scalar:
    return value if factor == 1 else apply("multiply", value, Literal(float(factor)))
