"""Graphs with other operators, reads, scalars or names: what rewrites share.

Assembly of the graph that a pass has changed, and which of its tensors are read once: maker and reader may change together.

Other names for tensors, throughout a graph, and names that no tensor has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from operator import is_

from tilewright.graph.expressions.scalar import Load, Scalar, rewrite
from tilewright.graph.types import Access, Graph, Operator, Tensor
from tilewright.records import replace


def with_operators(graph: Graph, operators: Iterable[Operator]) -> Graph:
    """The graph with other operators; tensors and constants that nothing refers to any more are dropped, inputs stay.

    Operators that are equal to those that were there are these, so that it shows what is new.
    """
    originals = {operator.write.tensor: operator for operator in graph.operators}
    pairs = ((operator, originals.get(operator.write.tensor, operator)) for operator in operators)
    kept = tuple([operator if operator is original or operator != original else original for operator, original in pairs])
    used = {*graph.inputs, *graph.outputs}
    for operator in kept:
        used.update([access.tensor for access in operator.accesses()])
    tensors = tuple([tensor for tensor in graph.tensors if tensor.name in used])
    constants = tuple([pair for pair in graph.constants if pair[0] in used])
    is_same = len(kept) == len(graph.operators) and all(map(is_, kept, graph.operators))
    if is_same and len(tensors) == len(graph.tensors) and len(constants) == len(graph.constants):
        return graph
    return replace(graph, operators=kept, tensors=tensors, constants=constants)


def with_joined(graph: Graph, join: Callable[[Operator, Access, Operator], Operator | None]) -> Graph:
    """The graph in which operators and their readers have become one, where a single access of one reader reads a result.

    `join` gives, for a reader, its access and the operator that writes there, the operator that does what both do; None where
    they stay apart. Outputs stay.
    """
    alone = read_once(graph)
    operators: dict[str, Operator] = {}
    for operator in graph.operators:
        for access in operator.reads:
            producer = operators.get(access.tensor) if access.tensor in alone else None
            joined = join(operator, access, producer) if producer is not None else None
            if joined is not None:
                del operators[access.tensor]
                operator = joined
        operators[operator.write.tensor] = operator
    return with_operators(graph, operators.values())


def with_tensors(graph: Graph, changed: Mapping[str, Tensor], access: Callable[[Access, Operator], Access]) -> Graph:
    """The graph with other tensors of the same names, such as of other dimensions; accesses to them follow."""

    def followed(operator: Operator) -> Operator:
        if changed.keys().isdisjoint(each.tensor for each in operator.accesses()):
            return operator
        return operator.with_accesses(lambda each: access(each, operator) if each.tensor in changed else each)

    tensors = tuple(changed.get(tensor.name, tensor) for tensor in graph.tensors)
    return replace(graph, tensors=tensors, operators=tuple(map(followed, graph.operators)))


class Expansion(ABC):
    """A graph in which several operators may stand for one, and the new tensors between them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tensors = dict(graph.by_name)

    @abstractmethod
    def parts(self, operator: Operator) -> Iterable[Operator]:
        """What stands for an operator, perhaps itself: the last of them writes its result."""

    def declared(self, name: str, like: str, dtype: str = "float32") -> Tensor:
        """A new tensor of another one's shape."""
        tensor = Tensor(unused(name, self.tensors), self.tensors[like].shape, dtype)
        self.tensors[tensor.name] = tensor
        return tensor

    def expanded(self) -> Graph:
        """The graph of all parts."""
        operators = [part for operator in self.graph.operators for part in self.parts(operator)]
        return with_operators(replace(self.graph, tensors=tuple(self.tensors.values())), operators)


def with_used_reads(operator: Operator) -> Operator:
    """The operator without the reads that neither its expressions nor a lookup of such a read use, and with equal ones as one."""
    loaded = {node.read for node in operator.scalars() if isinstance(node, Load)}
    looked_up = {number for read in loaded for _, number in operator.reads[read].lookups}
    reads: list[Access] = []
    new: dict[int, int] = {}
    for number in sorted(loaded | looked_up, key=lambda read: (bool(operator.reads[read].lookups), read)):
        access = operator.reads[number]
        access = replace(access, lookups=tuple((dimension, new[by]) for dimension, by in access.lookups))
        reads += [access] if access not in reads else []
        new[number] = reads.index(access)

    def renumbered(scalar: Scalar) -> Scalar:
        return rewrite(scalar, lambda node: Load(new[node.read]) if isinstance(node, Load) else None)

    return replace(operator, reads=tuple(reads)).with_scalars(renumbered)


def read_once(graph: Graph) -> set[str]:
    """Tensors that a single access of a single operator reads, and that are no outputs."""
    readers = Counter(access.tensor for operator in graph.operators for access in operator.reads)
    return {tensor for tensor, count in readers.items() if count == 1} - set(graph.outputs)


def unused(name: str, taken: Container[str]) -> str:
    """The name itself, or with underscores behind it: a name that is made of others may be one of those already.

    >>> unused("x_copy", {"x", "x_copy"})
    'x_copy_'
    """
    while name in taken:
        name += "_"
    return name


def rename_tensors(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with tensors renamed from key to value; other names stay."""

    def renamed(access: Access) -> Access:
        return access.of(names.get(access.tensor, access.tensor))

    return replace(
        graph,
        tensors=tuple(tensor.renamed(names.get(tensor.name, tensor.name)) for tensor in graph.tensors),
        operators=tuple(operator.with_accesses(renamed) for operator in graph.operators),
        inputs=tuple(names.get(name, name) for name in graph.inputs),
        outputs=tuple(names.get(name, name) for name in graph.outputs),
        constants=tuple((names.get(name, name), constant) for name, constant in graph.constants),
    )
