"""Chains of a graph's operators: one name per axis across all of them, how they depend on each other, and canonical chains.

Properties that planning needs thousands of times are derived once per chain (`derived_once`). In a canonical chain axes, tensors
and operators are numbered, so that chains that differ in names only are equal. Planning asks nothing of names, and its answer to
a canonical chain holds for every chain of that structure. Numbers are written as names that no graph has (`%a0`, `%t0`, `%op0`):
whatever works on chains works on canonical ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial, wraps
from typing import Annotated, Concatenate, ParamSpec, TypeAlias, TypeVar
from weakref import ref

from tilewright.errors import PlanningError
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import AxisValue, Scalar, rewrite
from tilewright.graph.types import Access, Axis, Chain, Graph, Operator, SymbolicExtent, Tensor
from tilewright.records import record

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
AxisName: TypeAlias = Annotated[str, "axes"]
TensorName: TypeAlias = Annotated[str, "tensors"]
OperatorName: TypeAlias = Annotated[str, "operators"]
"""A name, by the field of `Names` that has others for it, or "": annotations that `binding.py` reads."""


@record
class ChainAnalysis:
    """Results of one chain, by function and arguments. Nobody may change a result, and none may refer to the chain itself."""

    chain: ref[Chain]
    results: dict[Hashable, object] = field(default_factory=dict)


_analyses: dict[int, ChainAnalysis] = {}
"""Of the chains that are alive, by identity: comparing chains would take longer than most analyses."""


def analysis_of(chain: Chain) -> ChainAnalysis:
    """The analysis of a chain, which lives as long as the chain does."""
    key = id(chain)
    found = _analyses.get(key)
    if found is None:
        forget = _analyses.pop
        found = _analyses[key] = ChainAnalysis(ref(chain, lambda _: forget(key, None)))
    return found


def derived_once(function: Callable[Concatenate[Chain, Arguments], Result]) -> Callable[Concatenate[Chain, Arguments], Result]:
    """A function of a chain, and of hashable arguments, that is evaluated once for each of them.

    >>> asked = []
    >>> count = derived_once(lambda chain, factor: asked.append(factor) or factor * len(chain.operators))
    >>> chain = Chain("empty", (), ())
    >>> count(chain, 2), count(chain, 2), count(chain, 3), asked
    (0, 0, 0, [2, 3])
    """

    @wraps(function)
    def analysed(chain: Chain, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        analysis = _analyses.get(id(chain))
        results = analysis.results if analysis is not None else analysis_of(chain).results
        key = (function, arguments, tuple(named.items())) if named else (function, arguments)
        found = results.get(key, results)
        if found is results:
            found = results[key] = function(chain, *arguments, **named)
        return found  # type: ignore[return-value]  # as `cast`, which is called millions of times

    return analysed


Place = tuple[int, str]
"""An axis of one operator: the operator's position and the axis's own name."""


def make_chain(graph: Graph, operators: Sequence[Operator]) -> Chain:
    """The chain of these operators (a subset of the graph's, in topological order) with consistently named axes.

    An axis by which a consumer reads a whole dimension of an intermediate is the producer's axis of that dimension. All
    other axes get names of their own: the user's where these are free, else with a number behind. Two axes of one
    operator stay apart even if both read the same dimension. Raises `PlanningError` unless there is exactly one sink.
    """
    return _chain(operators, graph.tensor, graph.constant_names)


def canonical_chain(graph: Graph, operators: Sequence[Operator]) -> Chain:
    """The canonical form of the chain of these operators, as `make_chain` makes it, for those who need no names."""
    _check_one_sink(operators)
    merged = _merged(operators)
    axes: dict[Place, str] = {}
    for root in merged.values():
        axes.setdefault(root, f"%a{len(axes)}")
    used = _used(operators)
    tensors = {name: f"%t{number}" for number, name in enumerate(used)}
    renamed = []
    for place, operator in enumerate(operators):
        own = {axis.name: axes[merged[place, axis.name]] for axis in operator.axes}
        renamed.append(_renamed_operator(operator, Names(own, tensors, {operator.name: f"%op{place}"}), ""))
    made = {operator.write.tensor for operator in operators}
    known = (_known_here(graph.tensor(name), name in made).renamed(number) for name, number in tensors.items())
    return Chain("", tuple(known), tuple(renamed), tuple([tensors[name] for name in graph.constant_names(used)]))


def sub_chain(chain: Chain, operators: Sequence[Operator]) -> Chain:
    """The chain of some operators of a chain, as `make_chain` makes it of a graph's."""
    return _chain(operators, chain.tensor, lambda used: tuple(name for name in chain.constants if name in used))


def _chain(
    operators: Sequence[Operator], tensor: Callable[[str], Tensor], constants: Callable[[Collection[str]], tuple[str, ...]]
) -> Chain:
    _check_one_sink(operators)
    names = _names(_merged(operators))
    own_names = ({axis.name: names[place, axis.name] for axis in op.axes} for place, op in enumerate(operators))
    renamed = tuple(map(with_axes, operators, own_names))
    used = _used(operators)
    made = {operator.write.tensor for operator in operators}
    tensors = tuple(_known_here(tensor(name), name in made) for name in used)
    return Chain("_".join(operator.name for operator in operators), tensors, renamed, constants(used))


def _used(operators: Sequence[Operator]) -> dict[str, None]:
    """The tensors that operators read and write, in their order."""
    return dict.fromkeys([access.tensor for operator in operators for access in operator.accesses()])


def _known_here(tensor: Tensor, is_made: bool) -> Tensor:
    """A tensor without facts that only matter to who makes it, so that chains that differ by them alone have one plan."""
    if not tensor.needs_exact and not tensor.is_extreme:
        return tensor
    return replace(tensor, needs_exact=tensor.needs_exact and is_made, is_extreme=False)


def single_operator_chains(chain: Chain) -> tuple[Chain, ...]:
    """Every operator of a chain as a chain of its own."""
    return tuple(sub_chain(chain, (operator,)) for operator in chain.operators)


@derived_once
def equal_axes(chain: Chain, tensor: str) -> frozenset[str]:
    """The axes of an intermediate along which producer and all consumers walk alike: block i of one is block i of all.

    They are those that are a whole dimension of the producer's write and of every consumer's reads of the tensor.
    """
    producer = chain.maker(tensor)
    axes = dict(_plain_dimensions(producer.write))
    for operator in chain.consumers(tensor):
        for access in operator.reads:
            if access.tensor == tensor:
                read = dict(_plain_dimensions(access))
                axes = {position: name for position, name in axes.items() if read.get(position) == name}
    return frozenset(axes.values())


def tensor_axes(access: Access) -> tuple[str, ...]:
    """The axes of an access in the order of its dimensions, each once; of a dimension those of long steps first.

    >>> from tilewright.graph.expressions.index import axis
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
    """The representative of every axis: the earliest operator's axis that it is equal to. Two axes of one operator stay apart."""
    parent: dict[Place, Place] = {(i, axis.name): (i, axis.name) for i, op in enumerate(operators) for axis in op.axes}
    members = {place: {place[0]} for place in parent}
    for first, second in _equal_dimensions(operators):
        low, high = sorted((_find(parent, first), _find(parent, second)))
        if low != high and members[low].isdisjoint(members[high]):
            parent[high] = low
            members[low] |= members.pop(high)
    return {place: _find(parent, place) for place in parent}


def _equal_dimensions(operators: Sequence[Operator]) -> Iterator[tuple[Place, Place]]:
    """The axes, of equal extents, by which a producer writes and a consumer reads a whole dimension of a tensor."""
    writers = {operator.write.tensor: position for position, operator in enumerate(operators)}
    for consumer, operator in enumerate(operators):
        for access in (read for read in operator.reads if read.tensor in writers):
            producer = writers[access.tensor]
            written = dict(_plain_dimensions(operators[producer].write))
            for dimension, name in _plain_dimensions(access):
                same = written.get(dimension)
                if same is not None and operators[producer].axis(same).extent == operator.axis(name).extent:
                    yield (producer, same), (consumer, name)


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
    tensors = {access.tensor: access.tensor for access in operator.accesses()}
    return _renamed_operator(operator, Names(new, tensors, {operator.name: operator.name}), operator.kind)


def _rename_scalar(scalar: Scalar, new: Mapping[str, str]) -> Scalar:
    return rewrite(scalar, lambda node: AxisValue(new[node.axis]) if isinstance(node, AxisValue) else None)


@record
class Names:
    """Names of axes, tensors and operators, by other names for the same: by canonical numbers, as a rule."""

    axes: Mapping[str, str]
    tensors: Mapping[str, str]
    operators: Mapping[str, str]
    chain: str = ""

    def inverse(self) -> Names:
        """The other names by these."""
        kinds = (self.axes, self.tensors, self.operators)
        axes, tensors, operators = ({new: old for old, new in names.items()} for names in kinds)
        return Names(axes, tensors, operators)


def canonical_form(chain: Chain) -> Chain:
    """A chain with numbers for names: in the order of the operators, of their axes, and of the tensors of the chain."""
    return chain if _is_canonical(chain) else _numbered_chain(chain)


@derived_once
def _is_canonical(chain: Chain) -> bool:
    names = names_of(chain)
    kinds = (names.axes, names.tensors, names.operators)
    is_numbered = all(number == name for of_kind in kinds for number, name in of_kind.items())
    return is_numbered and not any((chain.name, *(operator.kind for operator in chain.operators)))


@derived_once
def _numbered_chain(chain: Chain) -> Chain:
    return renamed(chain, names_of(chain).inverse(), kind="")


def names_of(chain: Chain) -> Names:
    """The names of a chain by canonical number."""
    tensors = _numbered("%t", (tensor.name for tensor in chain.tensors))
    operators = _numbered("%op", (operator.name for operator in chain.operators))
    return Names(_numbered("%a", chain.extents), tensors, operators, chain.name)


def renamed(chain: Chain, names: Names, kind: str | None = None) -> Chain:
    """The chain in other names, and with another kind for its operators."""
    tensors = tuple([tensor.renamed(names.tensors[tensor.name]) for tensor in chain.tensors])
    operators = tuple([_renamed_operator(op, names, op.kind if kind is None else kind) for op in chain.operators])
    return Chain(names.chain, tensors, operators, tuple(names.tensors[name] for name in chain.constants))


def renamed_graph(graph: Graph, names: Names) -> Graph:
    """The graph in other names."""
    return replace(
        graph,
        tensors=tuple(tensor.renamed(names.tensors[tensor.name]) for tensor in graph.tensors),
        operators=tuple(_renamed_operator(operator, names, operator.kind) for operator in graph.operators),
        inputs=tuple(names.tensors[name] for name in graph.inputs),
        outputs=tuple(names.tensors[name] for name in graph.outputs),
        constants=tuple((names.tensors[name], constant) for name, constant in graph.constants),
    )


def _numbered(prefix: str, names: Iterable[str]) -> dict[str, str]:
    return {f"{prefix}{number}": name for number, name in enumerate(names)}


def _renamed_operator(operator: Operator, names: Names, kind: str) -> Operator:
    rename = partial(_rename_scalar, new=names.axes)
    return Operator(
        names.operators[operator.name],
        kind,
        tuple([Axis(names.axes[axis.name], axis.extent, axis.kind) for axis in operator.axes]),
        tuple([_renamed_access(access, names) for access in operator.reads]),
        _renamed_access(operator.write, names),
        rename(operator.body),
        operator.reduction and operator.reduction.mapped(rename),
        operator.accumulator,
    )


def _renamed_access(access: Access, names: Names) -> Access:
    return access.mapped(lambda index: index.renamed(names.axes), names.tensors[access.tensor])
