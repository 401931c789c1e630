"""The part of a graph that depends on constants alone.

Constant part of a graph: what depends on constants alone, as a graph that is evaluated once, when a kernel is loaded.

Maps of constants that are stored: who reads their results in every call does not compute them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tilewright.graph.constant_values import decide, is_moderate
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.scalar import Apply, AxisValue, Literal, Parameter
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Access, Constant, Graph, Operator, Tensor, largest_extent

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def constant_operators(graph: Graph) -> tuple[Operator, ...]:
    """The operators that read constants, or each other's results, and nothing else; outputs of the graph are not among them, nor
    what a symbolic extent changes. A map that reads nothing (one number everywhere, positions) is as constant as one that reads
    constants; a sum of what nothing is read for may run over more points than memory has room for.
    """
    known = {name for name, _ in graph.constants}
    found = []
    for operator in graph.operators:
        if _is_constant(operator, known) and operator.write.tensor not in graph.outputs:
            known.add(operator.write.tensor)
            found.append(operator)
    return tuple(found)


def moderate_constants(graph: Graph) -> set[str]:
    """The constants of a graph, and what operators make of them, but for those of extreme sizes and what is made of these."""
    extreme = {tensor.name for tensor in graph.tensors if tensor.is_extreme}
    extreme |= {name for name, constant in graph.constants if decide(constant.array) and not is_moderate(constant.array)}
    moderate = {name for name, _ in graph.constants} - extreme
    for operator in constant_operators(graph):
        if moderate.issuperset(access.tensor for access in operator.reads) and is_moderate(np.array([*_factors(operator)])):
            moderate.add(operator.write.tensor)
    return moderate


def _factors(operator: Operator) -> Iterator[float]:
    """The numbers that an operator writes, multiplies by or divides by."""
    if isinstance(operator.body, Literal):
        yield operator.body.value
    for part in operator.scalars():
        if isinstance(part, Apply) and part.function in ("multiply", "divide"):
            yield from (operand.value for operand in part.operands if isinstance(operand, Literal))


def constant_tensors(graph: Graph) -> set[str]:
    """The constants of a graph, and what its constant operators make."""
    return {name for name, _ in graph.constants} | {operator.write.tensor for operator in constant_operators(graph)}


def split(graph: Graph) -> tuple[Graph, Graph]:
    """(the constant part, the graph that takes its results as constants).

    The outputs of the first are what the second reads of it. Those constants have a shape and an element type; their values are
    those that `evaluated` gives.

    >>> from tilewright.graph.builders.builder import Builder
    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (2, 3), "float32"), builder.constant(np.ones((3, 4), np.float32))
    >>> y = builder.matmul(x, builder.map("exp", w))
    >>> constant, rest = split(builder.graph((y.name,)))
    >>> [operator.name for operator in constant.operators], [operator.name for operator in rest.operators]
    (['exp'], ['matmul'])
    """
    operators = constant_operators(graph)
    made = {operator.write.tensor for operator in operators}
    remaining = [operator for operator in graph.operators if operator.write.tensor not in made]
    read = {access.tensor for operator in remaining for access in operator.reads}
    results = tuple(operator.write.tensor for operator in operators if operator.write.tensor in read)
    constant = DeadCode().run(replace(graph, name=f"{graph.name}_constants", inputs=(), outputs=results))
    types = {tensor.name: tensor for tensor in graph.tensors}
    unknown = ((name, unread(types[name])) for name in results)
    return constant, with_operators(replace(graph, constants=(*graph.constants, *unknown)), remaining)


def evaluated(graph: Graph, names: Iterable[str]) -> dict[str, Array]:
    """The values of constants of a graph, and of what its constant operators make."""
    wanted = tuple(names)
    values: dict[str, Array] = {name: constant.array for name, constant in graph.constants if name in wanted}
    missing = tuple(name for name in wanted if name not in values)
    if missing:
        part = DeadCode().run(replace(graph, inputs=(), outputs=missing))
        values |= evaluate(part, {})
    return values


def unread(tensor: Tensor) -> Constant:
    """A constant whose values nobody knows yet."""
    shape: tuple[Any, ...] = tensor.shape
    return Constant(np.broadcast_to(np.ones((), tensor.dtype), shape), has_values=False)


def _is_constant(operator: Operator, known: Collection[str]) -> bool:
    fixed = all(isinstance(axis.extent, int) for axis in operator.axes)
    reads = operator.is_map() if not operator.reads else all(access.tensor in known for access in operator.reads)
    return fixed and reads and not _has_parameters(operator)


def _has_parameters(operator: Operator) -> bool:
    return any(isinstance(node, Parameter) for node in operator.scalars())


COSTLY = frozenset(name for name, function in FUNCTIONS.items() if function.is_real) - {"divide", "reciprocal", "sqrt"} | {"pow"}
"""Functions that take longer than to load an element, wherever that lies."""


class StoredParts:
    """Maps of constants that stay apart from readers which are computed in every call: evaluated once, their results are read.

    They do so where reading a result takes no longer than computing it again: where they apply an exponential or the like, and
    where they read as many bytes as they write. Short numbers, outer products, numbers and positions stay in the reader.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _constants(self) -> set[str]:
        return constant_tensors(self._graph)

    def keep_apart(self, producer: Operator, reader: Operator) -> bool:
        """Whether a map is not to be computed inside of a reader."""
        is_end = producer.write.tensor in self._constants and reader.write.tensor not in self._constants
        return is_end and (_is_costly(producer) or not (_has_positions(producer) or self._lengthens(producer)))

    def _lengthens(self, operator: Operator) -> bool:
        """Whether an operator writes more bytes than it reads."""
        return sum(self._bytes(access, operator) for access in operator.reads) < self._bytes(operator.write, operator)

    def _bytes(self, access: Access, operator: Operator) -> int:
        """Of the elements that an access addresses: no more than the tensor has, nor than there are points."""
        tensor = self._graph.tensor(access.tensor)
        points = prod(largest_extent(axis.extent) for axis in operator.axes if axis.name in access.axes())
        elements = prod(map(largest_extent, tensor.shape))
        return (elements if access.lookups else min(points, elements)) * np.dtype(tensor.dtype).itemsize


def _is_costly(operator: Operator) -> bool:
    return not COSTLY.isdisjoint(operator.functions())


def _has_positions(operator: Operator) -> bool:
    return any(isinstance(node, AxisValue) for node in operator.scalars())
