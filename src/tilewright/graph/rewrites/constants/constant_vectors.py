"""Constants of channels become vectors: a bias of shape (1, 64, 1, 1) loses the dimensions of one element behind its channels.

Micro tiles and vector loops load operands whose columns are a last dimension. Where channels come last, these are the channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Access, Graph, Operator


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
