"""Chains of a graph's operators: one name per axis across all of them, and how they depend on each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from tilewright.errors import PlanningError
from tilewright.graph.index import Index
from tilewright.graph.scalar import AxisValue, Scalar, rewrite
from tilewright.graph.types import Access, Axis, Chain, Graph, Operator, Reduction, SymbolicExtent, Tensor
from tilewright.plan.chain_analysis import derived_once

Place = tuple[int, str]
"""An axis of one operator: the operator's position and the axis's own name."""


def make_chain(graph: Graph, operators: Sequence[Operator]) -> Chain:
    """The chain of these operators (a subset of the graph's, in topological order) with consistently named axes.

    An axis by which a consumer reads a whole dimension of an intermediate is the producer's axis of that dimension. All
    other axes get names of their own: the user's where these are free, else with a number behind. Two axes of one
    operator stay apart even if both read the same dimension. Raises `PlanningError` unless there is exactly one sink.
    """
    return _chain(operators, graph.tensor, (name for name, _ in graph.constants))


def sub_chain(chain: Chain, operators: Sequence[Operator]) -> Chain:
    """The chain of some operators of a chain, as `make_chain` makes it of a graph's."""
    return _chain(operators, chain.tensor, chain.constants)


def _chain(operators: Sequence[Operator], tensor: Callable[[str], Tensor], constants: Iterable[str]) -> Chain:
    _check_one_sink(operators)
    names = _names(_merged(operators))
    renamed = tuple(
        with_axes(operator, {axis.name: names[position, axis.name] for axis in operator.axes})
        for position, operator in enumerate(operators)
    )
    used = dict.fromkeys(access.tensor for op in operators for access in (*op.reads, op.write))
    made = {operator.write.tensor for operator in operators}
    tensors = tuple(_known_here(tensor(name), name in made) for name in used)
    return Chain("_".join(operator.name for operator in operators), tensors, renamed, tuple(n for n in constants if n in used))


def _known_here(tensor: Tensor, is_made: bool) -> Tensor:
    """A tensor without facts that only matter to who makes it, so that chains that differ by them alone have one plan."""
    if not tensor.needs_exact and not tensor.is_extreme:
        return tensor
    return replace(tensor, needs_exact=tensor.needs_exact and is_made, is_extreme=False)


def single_operator_chains(chain: Chain) -> tuple[Chain, ...]:
    """Every operator of a chain as a chain of its own."""
    return tuple(
        Chain(
            op.name,
            tuple(t for t in chain.tensors if t.name in {a.tensor for a in (*op.reads, op.write)}),
            (op,),
            tuple(name for name in chain.constants if name in {a.tensor for a in op.reads}),
        )
        for op in chain.operators
    )


@derived_once
def equal_axes(chain: Chain, tensor: str) -> frozenset[str]:
    """The axes of an intermediate along which producer and all consumers walk alike: block i of one is block i of all.

    They are those that are a whole dimension of the producer's write and of every consumer's reads of the tensor.
    """
    producer = chain.producer(tensor)
    assert producer is not None, f"{tensor} is an input"
    axes = dict(_plain_dimensions(producer.write))
    for operator in chain.consumers(tensor):
        for access in operator.reads:
            if access.tensor == tensor:
                read = dict(_plain_dimensions(access))
                axes = {position: name for position, name in axes.items() if read.get(position) == name}
    return frozenset(axes.values())


def tensor_axes(access: Access) -> tuple[str, ...]:
    """The axes of an access in the order of its dimensions, each once; of a dimension those of long steps first.

    >>> from tilewright.graph.index import axis
    >>> tensor_axes(Access("y", (axis("n"), axis("inner") + axis("outer") * 8)))
    ('n', 'outer', 'inner')
    """
    return tuple(dict.fromkeys(name for index in access.indices for name in _by_steps(index)))


def _by_steps(index: Index) -> Iterator[str]:
    """The axes of an index; those of equal steps in the order of their names, which are numbers where a chain is planned."""
    for atom, _ in sorted(index.terms, key=lambda term: -abs(term[1])):
        if not isinstance(atom, SymbolicExtent):
            yield from (atom,) if isinstance(atom, str) else _by_steps(atom.dividend)


def axis_names(operators: Iterable[Operator]) -> frozenset[str]:
    """The names of all axes of some operators."""
    return frozenset().union(*(operator.axis_names for operator in operators))


def _check_one_sink(operators: Sequence[Operator]) -> None:
    read = {access.tensor for operator in operators for access in operator.reads}
    unread = [operator.name for operator in operators if operator.write.tensor not in read]
    if len(unread) != 1 or unread[0] != operators[-1].name:
        found = ", ".join(unread) or "none"
        raise PlanningError("a chain has exactly one sink, its last operator", why=f"results that nothing reads: {found}")


@lru_cache(maxsize=4096)
def _plain_dimensions(access: Access) -> tuple[tuple[int, str], ...]:
    """(dimension, axis) for every dimension that is one axis of its own, not used by another dimension."""
    used = Counter(name for index in access.indices for name in index.axes())
    looked_up = dict(access.lookups)
    single = [(position, index) for position, index in enumerate(access.indices) if index.is_axis() and position not in looked_up]
    plain = ((position, next(iter(index.axes()))) for position, index in single)
    return tuple((position, name) for position, name in plain if used[name] == 1)


def _merged(operators: Sequence[Operator]) -> dict[Place, Place]:
    """The representative of every axis: the earliest operator's axis that it is equal to."""
    parent: dict[Place, Place] = {(i, axis.name): (i, axis.name) for i, op in enumerate(operators) for axis in op.axes}
    members = {place: {place[0]} for place in parent}
    writer = {operator.write.tensor: position for position, operator in enumerate(operators)}
    for consumer, operator in enumerate(operators):
        for access in operator.reads:
            if access.tensor in writer:
                _merge_read(operators, parent, members, writer[access.tensor], consumer, access)
    return {place: _find(parent, place) for place in parent}


def _merge_read(
    operators: Sequence[Operator],
    parent: dict[Place, Place],
    members: dict[Place, set[int]],
    producer: int,
    consumer: int,
    access: Access,
) -> None:
    """Make the axes by which a consumer reads whole dimensions equal to those of the producer.

    `members` has the operators that have an axis of a class, by its representative: two of one operator stay apart.
    """
    written = dict(_plain_dimensions(operators[producer].write))
    for position, name in _plain_dimensions(access):
        if position not in written:
            continue
        first, second = (producer, written[position]), (consumer, name)
        same_extent = operators[producer].axis(first[1]).extent == operators[consumer].axis(name).extent
        low, high = sorted((_find(parent, first), _find(parent, second)))
        if same_extent and low != high and members[low].isdisjoint(members[high]):
            parent[high] = low
            members[low] |= members.pop(high)


def _find(parent: dict[Place, Place], place: Place) -> Place:
    while parent[place] != place:
        place = parent[place]
    return place


def _names(merged: dict[Place, Place]) -> dict[Place, str]:
    """A unique name for every class of equal axes: the user's name in the first operator that has it, if free."""
    chosen: dict[Place, str] = {}
    taken: set[str] = set()
    for place in merged:
        root = merged[place]
        if root not in chosen:
            chosen[root] = _free_name(root[1], taken)
            taken.add(chosen[root])
    return {place: chosen[root] for place, root in merged.items()}


def _free_name(wanted: str, taken: set[str]) -> str:
    number, name = 2, wanted
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def with_axes(operator: Operator, new: Mapping[str, str]) -> Operator:
    """An operator whose axes have other names."""
    if all(new[axis.name] == axis.name for axis in operator.axes):
        return operator
    return replace(
        operator,
        axes=tuple(Axis(new[axis.name], axis.extent, axis.kind) for axis in operator.axes),
        reads=tuple(access.mapped(lambda index: index.renamed(new)) for access in operator.reads),
        write=operator.write.mapped(lambda index: index.renamed(new)),
        body=_rename_scalar(operator.body, new),
        reduction=_rename_reduction(operator.reduction, new),
    )


def _rename_scalar(scalar: Scalar, new: Mapping[str, str]) -> Scalar:
    return rewrite(scalar, lambda node: AxisValue(new[node.axis]) if isinstance(node, AxisValue) else None)


def _rename_reduction(reduction: Reduction | None, new: Mapping[str, str]) -> Reduction | None:
    if reduction is None:
        return None
    states = tuple(replace(state, contribution=_rename_scalar(state.contribution, new)) for state in reduction.states)
    rescales = tuple(replace(rescale, factor=_rename_scalar(rescale.factor, new)) for rescale in reduction.rescales)
    return Reduction(states, _rename_scalar(reduction.finish, new), rescales)
