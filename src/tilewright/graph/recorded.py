"""Operators recorded by a builder: rollback after a refused lowering, the subset that outputs need, values of constant parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.expressions.scalar import Parameter
from tilewright.graph.needed_operators import needed_operators
from tilewright.graph.types import Graph, Operator


def rollback(builder: Builder) -> Callable[[], None]:
    """A function that forgets what is recorded from now on, for a lowering that is refused."""
    operators, tensors, constants = len(builder.operators), len(builder.tensors), len(builder.constants)

    def restore() -> None:
        del builder.operators[operators:]
        while len(builder.constants) > constants:
            builder.constants.popitem()
        while len(builder.tensors) > tensors:
            builder.known.pop(builder.tensors.popitem()[0], None)

    return restore


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


def evaluated(builder: Builder, tensor: str) -> np.ndarray | None:
    """The value of a tensor that depends on constants alone; None of any other."""
    operators = needed_operators(builder.operators, [tensor])
    touched = {access.tensor for operator in operators for access in (*operator.reads, operator.write)}
    read = touched - {operator.write.tensor for operator in operators}
    if not operators or _parameters(operators) or not read <= builder.constants.keys():
        return None
    from tilewright.graph.interpreter import evaluate  # 20 ms, and hardly a model asks for such a value

    tensors = tuple(builder.tensors[name] for name in touched)
    constants = tuple((name, builder.constants[name]) for name in read)
    return evaluate(Graph(builder.name, tensors, tuple(operators), (), (tensor,), constants), {})[tensor]
