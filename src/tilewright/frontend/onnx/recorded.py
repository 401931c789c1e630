"""What a builder has recorded: taking back what was refused, and cutting out what outputs need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.graph.builder import Builder
from tilewright.graph.types import Operator, SymbolicExtent


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


def that_bind_symbols(builder: Builder, used: Sequence[str], touched: set[str]) -> list[str]:
    """Inputs that nobody reads, but whose shapes give a symbol its value."""

    def symbols(names: Iterable[str]) -> set[str]:
        return {e.name for name in names for e in builder.tensors[name].shape if isinstance(e, SymbolicExtent)}

    missing, added = symbols(touched) - symbols(used), []
    for name in builder.inputs:
        if missing & symbols([name]):
            added.append(name)
            missing -= symbols([name])
    return added
