"""Constants of few elements, of one, and of one dimension.

Small constants: what follows from them alone is computed, and numbers become literals.

Their values may decide what code is generated: scales, roots of two, epsilons.

Constants of channels become vectors: a bias of shape (1, 64, 1, 1) loses the dimensions of one element behind its channels.

Micro tiles and vector loops load operands whose columns are a last dimension. Where channels come last, these are the channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from tilewright.graph.constant_values import FEW
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators, evaluated
from tilewright.graph.rewrites.rebuild import with_operators, with_used_reads
from tilewright.graph.scalar import Literal, Load, Scalar, rewrite
from tilewright.graph.types import Access, Constant, Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class FoldConstants(Rewrite):
    """Operators of constants alone become constants, as long as all that they read and write is small.

    What reads nothing stays a formula: a reader knows more of positions than of an array of them.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with results in the place of operators on small constants."""
        small = {tensor.name for tensor in graph.tensors if _elements(tensor) <= FEW}
        known = {name for name, _ in graph.constants} & small
        folded: list[Operator] = []
        for operator in constant_operators(graph):
            read = {access.tensor for access in operator.reads}
            if operator.write.tensor in small and read and read <= known:
                known.add(operator.write.tensor)
                folded.append(operator)
        if not folded:
            return graph
        results = [operator.write.tensor for operator in folded]
        values = tuple((name, Constant(array)) for name, array in evaluated(graph, results).items())
        kept = [operator for operator in graph.operators if operator.write.tensor not in results]
        return with_operators(replace(graph, constants=(*graph.constants, *values)), kept)


def _elements(tensor: Tensor) -> float:
    return prod(extent if isinstance(extent, int) else inf for extent in tensor.shape)


@dataclass(frozen=True, slots=True)
class Literals(Rewrite):
    """A number that a map reads everywhere the same is part of its formula, whoever wrote it as an array.

    Only in maps that compute in floating point, which is what literals are.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose maps read no constant of one element."""
        numbers = {name: Literal(_value(constant)) for name, constant in graph.constants if constant.array.size == 1}
        return with_operators(graph, [_with_literals(operator, numbers) for operator in graph.operators]) if numbers else graph


def _value(constant: Constant) -> float:
    return float(constant.array.reshape(())[()])


def _with_literals(operator: Operator, numbers: Mapping[str, Literal]) -> Operator:
    known = {Load(number): numbers[access.tensor] for number, access in enumerate(operator.reads) if access.tensor in numbers}
    if not known or not operator.is_map() or not np.issubdtype(np.dtype(operator.accumulator), np.floating):
        return operator
    guarded = {Load(number) for number, access in enumerate(operator.reads) if access.guard is not None}
    values: Mapping[Scalar, Literal] = {load: value for load, value in known.items() if load not in guarded}
    return with_used_reads(replace(operator, body=rewrite(operator.body, values.get)))


@dataclass(frozen=True, slots=True)
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
        tensors = tuple(replace(tensor, shape=shorter.get(tensor.name, tensor.shape)) for tensor in graph.tensors)
        operators = [_reading(operator, shorter) for operator in graph.operators]
        return with_operators(replace(graph, tensors=tensors, constants=constants), operators)


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


def _reading(operator: Operator, shorter: Mapping[str, tuple[int, ...]]) -> Operator:
    reads = tuple(
        replace(access, indices=access.indices[: len(shorter[access.tensor])]) if access.tensor in shorter else access
        for access in operator.reads
    )
    return operator if reads == operator.reads else replace(operator, reads=reads)
