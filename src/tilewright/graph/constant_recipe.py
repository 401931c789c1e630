"""Recipe by which the constants of generated code come from those of the compiled graph; it holds none of their values.

Whoever loads remembered code has the constants of the graph, and neither rewrites nor plans it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tilewright.graph.constant_values import decide
from tilewright.graph.types import Constant, Graph

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Named: TypeAlias = Iterable[tuple[str, Constant]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Operators on constants; its outputs are what is wanted."""

    graph: Graph
    """With the constants that the recipe itself holds."""
    origins: tuple[tuple[str, str], ...]
    """(name here, name of the constant that is given), which may have another shape here."""

    def values(self, given: Named) -> dict[str, Array]:
        """The outputs, made of constants by name."""
        if not self.graph.outputs:
            return {}
        from tilewright.graph.interpreter import evaluate  # 20 ms, and most kernels have no constants

        arrays = {name: constant.array for name, constant in given}
        shapes: dict[str, Any] = {tensor.name: tensor.shape for tensor in self.graph.tensors}
        kept = tuple((name, Constant(arrays[origin].reshape(shapes[name]))) for name, origin in self.origins)
        return evaluate(replace(self.graph, constants=(*self.graph.constants, *kept)), {})


NO_CONSTANTS = Recipe(Graph("no_constants", (), (), (), ()), ())


def recipe(graph: Graph, names: Iterable[str], given: Named) -> Recipe:
    """How to make these tensors, which depend on constants alone, where constants of the graph are views of those given.

    >>> from tilewright.graph.builders.builder import Builder
    >>> builder = Builder("f")
    >>> weight = builder.constant(np.arange(100.0), "weight")
    >>> shifted = builder.map("add", weight, 1.0)
    >>> graph = builder.graph((shifted.name,))
    >>> made = recipe(graph, [shifted.name], graph.constants)
    >>> made.origins, float(made.values([("weight", Constant(np.ones(100)))])[shifted.name][0])
    ((('weight', 'weight'),), 2.0)
    """
    from tilewright.graph.rewrites.dead_code import DeadCode

    wanted = DeadCode().run(replace(graph, inputs=(), outputs=tuple(names)))
    places = {_place(constant.array): name for name, constant in given if not decide(constant.array)}
    origins = tuple(
        (name, places[_place(constant.array)]) for name, constant in wanted.constants if _place(constant.array) in places
    )
    elsewhere = dict(origins)
    return Recipe(replace(wanted, constants=tuple(pair for pair in wanted.constants if pair[0] not in elsewhere)), origins)


def _place(array: Array) -> tuple[int, str, tuple[tuple[int, int], ...]]:
    """Where the elements lie in memory, and in which order: equal for arrays that differ in their shape alone, not for a
    transposed view. Dimensions that one step walks (row-major neighbours) are one `(extent, stride in bytes)`.
    """
    walked: list[tuple[int, int]] = []
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if extent == 1:
            continue
        if walked and walked[-1][1] == stride * extent:
            walked[-1] = (walked[-1][0] * extent, stride)
        else:
            walked.append((extent, stride))
    return array.ctypes.data, array.dtype.str, tuple(walked)
