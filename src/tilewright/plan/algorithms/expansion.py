"""Expansion of operators of a graph by the algorithms chosen for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tilewright.errors import InternalError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Access, Graph, Operator, planned_extent
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.definition import Algorithm, Problem


def expanded(graph: Graph, chosen: Mapping[str, Algorithm], constants: frozenset[str], machine: Machine) -> Graph:
    """The graph in which each named operator is computed by its algorithm; all others stay.

    The operators of an expansion have new names, but for the largest reduction among them, which keeps the operator's. Constants
    are added where an algorithm has them.
    """
    builder = Builder(graph.name)
    builder.tensors = {tensor.name: tensor for tensor in graph.tensors}
    for name in (*builder.tensors, *(operator.name for operator in graph.operators)):
        builder.unique(name)
    for operator in graph.operators:
        if operator.name in chosen:
            _expand(Problem(operator, builder.tensors, constants, machine), chosen[operator.name], builder)
        else:
            builder.operators.append(operator)
    tensors, known = tuple(builder.tensors.values()), (*graph.constants, *builder.constants.items())
    return with_operators(replace(graph, tensors=tensors, constants=known), builder.operators)


def _expand(problem: Problem, algorithm: Algorithm, builder: Builder) -> None:
    start = len(builder.operators)
    made, wanted = algorithm.expand(problem, builder), problem.result
    if (made.shape, made.dtype) != (wanted.shape, wanted.dtype):
        raise InternalError(f"{algorithm.name} makes {made} of {problem.operator.name}, not {wanted}")
    operators = builder.operators[start:]
    reductions = [operator for operator in operators if operator.reduction is not None]
    names = {max(reductions, key=_points).name: problem.operator.name} if reductions else {}
    tensors = {made.name: wanted.name}
    builder.operators[start:] = [_renamed(operator, names, tensors) for operator in operators]


def _points(operator: Operator) -> int:
    return prod(planned_extent(axis.extent) for axis in operator.axes)


def _renamed(operator: Operator, names: Mapping[str, str], tensors: Mapping[str, str]) -> Operator:
    def renamed(access: Access) -> Access:
        return replace(access, tensor=tensors.get(access.tensor, access.tensor))

    reads = tuple(map(renamed, operator.reads))
    return replace(operator, name=names.get(operator.name, operator.name), reads=reads, write=renamed(operator.write))
