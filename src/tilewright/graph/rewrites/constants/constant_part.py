"""The part of a graph that depends on constants alone, and constants of few elements.

Constant part of a graph: what depends on constants alone, as a graph that is evaluated once, when a kernel is loaded.

Maps of constants that are stored: who reads their results in every call does not compute them again.

Constants of few elements, of one, and of one dimension.

Small constants: what follows from them alone is computed, and numbers become literals.

Their values may decide what code is generated: scales, roots of two, epsilons.

Constants of channels become vectors: a bias of shape (1, 64, 1, 1) loses the dimensions of one element behind its channels.

Micro tiles and vector loops load operands whose columns are a last dimension. Where channels come last, these are the channels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tilewright.graph.constant_values import FEW, is_moderate
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Parameter, Scalar, rewrite
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators, with_tensors, with_used_reads
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.types import Access, Constant, Graph, Operator, Tensor, largest_extent
from tilewright.records import replace

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
    extreme |= {name for name, constant in graph.constants if constant.decides and not is_moderate(constant.array)}
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
    unknown = ((name, unread(graph.tensor(name))) for name in results)
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
    reads = operator.is_map() if not operator.reads else all(access.tensor in known for access in operator.reads)
    fixed = reads and all(isinstance(axis.extent, int) for axis in operator.axes)
    return fixed and not any(isinstance(node, Parameter) for node in operator.scalars())


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
        if not is_end or not COSTLY.isdisjoint(producer.functions()):
            return is_end
        return not producer.computed_axes() and not self._lengthens(producer)

    def _lengthens(self, operator: Operator) -> bool:
        """Whether an operator writes more bytes than it reads."""
        return sum(self._bytes(access, operator) for access in operator.reads) < self._bytes(operator.write, operator)

    def _bytes(self, access: Access, operator: Operator) -> int:
        """Of the elements that an access addresses: no more than the tensor has, nor than there are points."""
        tensor = self._graph.tensor(access.tensor)
        points = prod(largest_extent(axis.extent) for axis in operator.axes if axis.name in access.axes())
        elements = prod(map(largest_extent, tensor.shape))
        return (elements if access.lookups else min(points, elements)) * np.dtype(tensor.dtype).itemsize


class FoldConstants(Rewrite):
    """Operators of constants alone become constants, as long as all that they read and write is small.

    What reads nothing stays a formula: a reader knows more of positions than of an array of them.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with results in the place of operators on small constants."""
        small = {tensor.name for tensor in graph.tensors if prod(map(largest_extent, tensor.shape)) <= FEW}
        known = {name for name, constant in graph.constants if constant.has_values} & small
        results: list[str] = []
        for operator in constant_operators(graph):
            result, read = operator.write.tensor, {access.tensor for access in operator.reads}
            if result in small and read and read <= known:
                known.add(result)
                results.append(result)
        if not results:
            return graph
        values = tuple((name, Constant(array)) for name, array in evaluated(graph, results).items())
        kept = [operator for operator in graph.operators if operator.write.tensor not in results]
        return with_operators(replace(graph, constants=(*graph.constants, *values)), kept)


class Literals(Rewrite):
    """A number that a map reads everywhere the same is part of its formula, whoever wrote it as an array.

    Only in maps that compute in floating point, which is what literals are.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose maps read no constant of one element."""
        known = ((name, constant.array) for name, constant in graph.constants if constant.has_values)
        single = ((name, array) for name, array in known if array.size == 1)
        numbers = {name: Literal(float(array.reshape(())[()])) for name, array in single}
        return with_operators(graph, [_with_literals(operator, numbers) for operator in graph.operators]) if numbers else graph


def _with_literals(operator: Operator, numbers: Mapping[str, Literal]) -> Operator:
    plain = ((Load(number), access.tensor) for number, access in enumerate(operator.reads) if access.guard is None)
    values: Mapping[Scalar, Literal] = {load: numbers[tensor] for load, tensor in plain if tensor in numbers}
    if not values or not operator.is_map() or not np.issubdtype(np.dtype(operator.accumulator), np.floating):
        return operator
    return with_used_reads(replace(operator, body=rewrite(operator.body, values.get)))


class ConstantVectors(Rewrite):
    """Legal for constants that maps alone read, at position 0 of every dimension that is lost: one element is all that there is.

    Dimensions of a guard, or of positions that are looked up, are not moved.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose maps read such constants as vectors."""
        shorter = _shorter(graph)
        if not shorter:
            return graph
        constants = tuple((name, value.reshaped(shorter.get(name, value.array.shape))) for name, value in graph.constants)
        tensors = {name: replace(graph.tensor(name), shape=shape) for name, shape in shorter.items()}

        def cut(access: Access, _: Operator) -> Access:
            return replace(access, indices=access.indices[: len(shorter[access.tensor])])

        return with_tensors(replace(graph, constants=constants), tensors, cut)


def _shorter(graph: Graph) -> Mapping[str, tuple[int, ...]]:
    """The shapes of constants that may be vectors, without the last dimensions of one element."""
    shapes = {name: value.array.shape for name, value in graph.constants if _is_vector(value.array.shape)}
    for operator in graph.operators:
        for access in operator.reads:
            if access.tensor in shapes and not (operator.is_map() and _is_at_zero(access, shapes[access.tensor])):
                del shapes[access.tensor]
    kept = {name: shape for name, shape in shapes.items() if name not in (*graph.inputs, *graph.outputs)}
    return {name: shape[: _dimensions(shape)] for name, shape in kept.items()}


def _is_vector(shape: tuple[int, ...]) -> bool:
    """Whether one dimension has all elements, several of them, and others of one element are behind it."""
    return max(shape, default=1) == prod(shape) > 1 and shape[-1] == 1


def _dimensions(shape: tuple[int, ...]) -> int:
    return max(dimension for dimension, extent in enumerate(shape) if extent != 1) + 1


def _is_at_zero(access: Access, shape: tuple[int, ...]) -> bool:
    """Whether an access has nothing but 0 in the last dimensions of one element."""
    lost = access.indices[_dimensions(shape) :]
    return access.guard is None and not access.lookups and all(not index.terms and not index.constant for index in lost)
