"""Operators recorded by a builder: rollback after a refused lowering, and the subset that outputs need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Parameter
from tilewright.graph.sums_of_extents import SumOfExtents
from tilewright.graph.types import Operator, SymbolicExtent, Tensor


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a builder was, to go back to when a lowering is refused."""

    operators: int
    tensors: int
    constants: int

    @classmethod
    def of(cls, builder: Builder) -> Mark:
        """How far it is now."""
        return cls(len(builder.operators), len(builder.tensors), len(builder.constants))

    def restore(self, builder: Builder) -> None:
        """Forget what was recorded since."""
        del builder.operators[self.operators :]
        while len(builder.constants) > self.constants:
            builder.constants.popitem()
        while len(builder.tensors) > self.tensors:
            builder.known.pop(builder.tensors.popitem()[0], None)


def needed_operators(operators: Sequence[Operator], outputs: Iterable[str]) -> list[Operator]:
    """The operators on which tensors depend."""
    needed, kept = set(outputs), []
    for operator in reversed(operators):
        if operator.write.tensor in needed:
            kept.append(operator)
            needed.update(access.tensor for access in operator.reads)
    return kept[::-1]


def that_bind_symbols(builder: Builder, used: Sequence[str], touched: set[str], operators: Sequence[Operator]) -> Iterator[str]:
    """Inputs that nobody reads, but whose shapes give a symbol its value; for sums of lengths such inputs are made."""

    def symbols(names: Iterable[str]) -> dict[str, SymbolicExtent]:
        return {e.name: e for name in names for e in builder.tensors[name].shape if isinstance(e, SymbolicExtent)}

    needed = symbols(touched)
    missing = (needed.keys() | _parameters(operators)) - symbols(used).keys()
    for name in list(builder.inputs):
        if missing & symbols([name]).keys():
            yield name
            missing -= symbols([name]).keys()
    for extent in (needed[symbol] for symbol in sorted(missing & needed.keys())):
        if isinstance(extent, SumOfExtents):
            yield builder.declare(Tensor(builder.unique(f"length_{extent}"), (extent,), "uint8")).name


def _parameters(operators: Sequence[Operator]) -> set[str]:
    """The run-time scalars that expressions speak of."""
    return {node.name for operator in operators for node in operator.scalars() if isinstance(node, Parameter)}
