"""Operators recorded by a builder: rollback after a refused lowering, and the subset that outputs need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.graph.builders.builder import Builder
from tilewright.graph.extents import dimensions_of
from tilewright.graph.scalar import Parameter
from tilewright.graph.types import Operator


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
    """Inputs that nobody reads, but whose shapes give a dimension its value."""

    def dimensions(names: Iterable[str]) -> set[str]:
        return set(dimensions_of(extent for name in names for extent in builder.tensors[name].shape))

    missing = (dimensions(touched) | _parameters(operators)) - dimensions(used)
    for name in list(builder.inputs):
        if missing & dimensions([name]):
            yield name
            missing -= dimensions([name])


def _parameters(operators: Sequence[Operator]) -> set[str]:
    """The dimensions that axes and expressions speak of."""
    parameters = [node for operator in operators for node in operator.scalars() if isinstance(node, Parameter)]
    extents = [axis.extent for operator in operators for axis in operator.axes]
    extents += [extent for operator in operators for extent in operator.guard_extents()]
    formulas = [node.extent for node in parameters if node.extent is not None]
    return {*dimensions_of([*extents, *formulas]), *(node.name for node in parameters if node.extent is None)}
