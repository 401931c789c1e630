"""Canonical chains: axes, tensors and operators are numbered, so that chains that differ in names only are equal.

Planning asks nothing of names, and its answer to a canonical chain holds for every chain of that structure. Numbers are written
as names that no graph has (`%a0`, `%t0`, `%op0`): whatever works on chains works on canonical ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tilewright.graph.types import Access, Chain, Graph, Operator
from tilewright.plan.chain_analysis import derived_once
from tilewright.plan.chains import with_axes


@dataclass(frozen=True, slots=True)
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


@derived_once
def canonical_form(chain: Chain) -> Chain:
    """A chain with numbers for names: in the order of the operators, of their axes, and of the tensors of the chain."""
    numbered = renamed(chain, names_of(chain).inverse())
    return replace(numbered, operators=tuple(replace(operator, kind="") for operator in numbered.operators))


def names_of(chain: Chain) -> Names:
    """The names of a chain by canonical number."""
    return Names(
        _numbered("%a", chain.extents),
        _numbered("%t", (tensor.name for tensor in chain.tensors)),
        _numbered("%op", (operator.name for operator in chain.operators)),
        chain.name,
    )


def renamed(chain: Chain, names: Names) -> Chain:
    """The chain in other names."""
    tensors = tuple(replace(tensor, name=names.tensors[tensor.name]) for tensor in chain.tensors)
    operators = tuple(_renamed_operator(operator, names) for operator in chain.operators)
    return Chain(names.chain, tensors, operators, tuple(names.tensors[name] for name in chain.constants))


def renamed_graph(graph: Graph, names: Names) -> Graph:
    """The graph in other names."""
    return replace(
        graph,
        tensors=tuple(replace(tensor, name=names.tensors[tensor.name]) for tensor in graph.tensors),
        operators=tuple(_renamed_operator(operator, names) for operator in graph.operators),
        inputs=tuple(names.tensors[name] for name in graph.inputs),
        outputs=tuple(names.tensors[name] for name in graph.outputs),
        constants=tuple((names.tensors[name], constant) for name, constant in graph.constants),
    )


def _numbered(prefix: str, names: Iterable[str]) -> dict[str, str]:
    return {f"{prefix}{number}": name for number, name in enumerate(names)}


def _renamed_operator(operator: Operator, names: Names) -> Operator:
    reads = tuple(_renamed_access(access, names) for access in operator.reads)
    write = _renamed_access(operator.write, names)
    return with_axes(replace(operator, name=names.operators[operator.name], reads=reads, write=write), names.axes)


def _renamed_access(access: Access, names: Names) -> Access:
    return Access(names.tensors[access.tensor], access.indices, access.guard, access.lookups)
