"""Aligned producers: a chain in which every intermediate is made in the axes of the operator that reads it.

A window reads an intermediate at `p + 28 * dy + dx - 29`. Where no buffer can be read at other positions than it was written at,
as a tile of registers cannot, its producer is computed again at every position of the window: in the axes `p`, `dy` and `dx` of
the reader, with its own reads moved as far. Where the reader's guard says that the element is not real, neither are those reads.
The values stay; the producer's work is multiplied by the positions of the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Access, Axis, AxisKind, Chain, Guard, Operator, Tensor, largest_extent
from tilewright.plan.chains import derived_once


@derived_once
def aligned(chain: Chain) -> Chain:
    """The chain with aligned producers, in the names of its operators and tensors: a chain of its own where all are aligned.

    Producers stay as they are that several operators read, whose results are not written along axes alone, that compute with
    """
    operators = {operator.name: operator for operator in chain.operators}
    tensors = {tensor.name: tensor for tensor in chain.tensors}
    for name in reversed([operator.name for operator in chain.operators]):
        for number in range(len(operators[name].reads)):
            _align(chain, operators, tensors, name, number)
    if all(operators[operator.name] is operator for operator in chain.operators):
        return replace(chain)  # results of a derivation may not refer to the chain itself
    return Chain(chain.name, tuple(tensors.values()), tuple(operators.values()), chain.constants)


def is_aligned(chain: Chain, reader: Operator, read: Access) -> bool:
    """Whether an operator reads an intermediate at the positions at which it was written."""
    return read.indices == chain.maker(read.tensor).write.indices and not read.lookups


def _align(chain: Chain, operators: dict[str, Operator], tensors: dict[str, Tensor], name: str, number: int) -> None:
    """Align the producer of one read, if it can be."""
    reader, read = operators[name], operators[name].reads[number]
    maker = chain.producer(read.tensor)
    if maker is None or len(chain.consumers(read.tensor)) > 1 or read.lookups:
        return
    maker = operators[maker.name]
    written = [index for index in maker.write.indices if index.terms]
    same = sum(one.tensor == read.tensor for one in reader.reads)
    if read.indices == maker.write.indices or same > 1 or not all(index.is_axis() for index in written):
        return
    values = {next(iter(own.axes())): at for own, at in zip(maker.write.indices, read.indices, strict=True) if own.terms}
    if not values.keys().isdisjoint(maker.computed_axes()):
        return
    axes = _axes_of(reader, read)
    rows = _rows_of(maker, values, axes, read.guard)
    if rows is None:
        return
    taken = {axis.name for axis in axes} & {axis.name for axis in maker.axes if axis.name not in values}
    if taken or len(written) != len(values) or not all(isinstance(axis.extent, int) for axis in axes):
        return
    plain = tuple(axis_index(axis.name) for axis in axes)
    operators[maker.name] = _moved(maker, values, _reduced(axes, rows), read.guard, Access(read.tensor, plain))
    tensors[read.tensor] = replace(tensors[read.tensor], shape=tuple(axis.extent for axis in axes), entries=None)
    reads = (*reader.reads[:number], replace(read, indices=plain), *reader.reads[number + 1 :])
    operators[name] = replace(reader, reads=reads)


def _axes_of(reader: Operator, read: Access) -> tuple[Axis, ...]:
    """The axes of a reader that say which element it reads, as independent ones."""
    names = read.axes() | (read.guard.axes() if read.guard is not None else frozenset())
    return tuple(Axis(axis.name, axis.extent) for axis in reader.axes if axis.name in names)


def _rows_of(maker: Operator, values: Mapping[str, Index], axes: tuple[Axis, ...], guard: Guard | None) -> frozenset[str] | None:
    """The reader's axes along which a producer reduces what it writes; None where one of them is not read from end to end."""
    extents = {axis_index(axis.name): axis.extent for axis in axes}
    reduced = [axis for axis in maker.reduction_axes() if axis.name in values]
    if any(extents.get(values[axis.name]) != axis.extent for axis in reduced):
        return None
    rows = frozenset(name for axis in reduced for name in values[axis.name].axes())
    others = [value.axes() for name, value in values.items() if name not in {axis.name for axis in reduced}]
    others += [] if guard is None else [guard.axes()]
    return rows if len(rows) == len(reduced) and rows.isdisjoint(frozenset().union(*others)) else None


def _reduced(axes: tuple[Axis, ...], rows: frozenset[str]) -> tuple[Axis, ...]:
    return tuple(replace(axis, kind=AxisKind.REDUCTION) if axis.name in rows else axis for axis in axes)


def _moved(maker: Operator, values: Mapping[str, Index], axes: tuple[Axis, ...], guard: Guard | None, write: Access) -> Operator:
    """A producer in other axes: those that it writes along become expressions of them."""
    kept = tuple(axis for axis in maker.axes if axis.name not in values)
    extents = {axis.name: largest_extent(axis.extent) for axis in (*axes, *kept)}

    moving = {axis for axis, value in values.items() if value != axis_index(axis)}

    def moved(access: Access) -> Access:
        changed = access.mapped(lambda index: index.substitute(values, extents))
        return changed if access.axes().isdisjoint(moving) else _guarded(changed, guard)

    assert all(axis.kind is AxisKind.REDUCTION for axis in kept), f"{maker.name} has independent axes that it does not write"
    return replace(maker, axes=(*axes, *kept), reads=tuple(map(moved, maker.reads)), write=write)


def _guarded(access: Access, guard: Guard | None) -> Access:
    """An access that is real where another guard holds, too; what is elsewhere, nobody sees."""
    if guard is None:
        return access
    own = access.guard if access.guard is not None else Guard((), 0.0)
    every = dict.fromkeys((*own.constraints, *guard.constraints))
    return replace(access, guard=Guard(tuple(every), own.otherwise))
