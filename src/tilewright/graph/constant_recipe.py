"""Recipe by which the constants of generated code come from those of the compiled graph; it holds none of their values.

Whoever loads remembered code has the constants of the graph, and neither rewrites nor plans it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from tilewright.graph.constant_values import decide, is_moderate, same_values
from tilewright.graph.expressions.scalar import Apply
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.needed_operators import needed_operators
from tilewright.graph.types import Constant, Graph, Operator
from tilewright.records import record

COMBINING = frozenset(("multiply", "divide", "reciprocal"))
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Named: TypeAlias = Iterable[tuple[str, Constant]]


@record
class Recipe:
    """Operators on constants; its outputs are what is wanted."""

    graph: Graph
    """With the constants that the recipe itself holds."""
    origins: tuple[tuple[str, str], ...]
    """(name here, name of the constant that is given), which may have another shape here."""

    def made(self, given: Named, names: Sequence[str], forget: Callable[[Array], None] = lambda _: None) -> MadeOneByOne:
        """The outputs of these names, made of constants by name: each when it is asked for.

        `forget` is told of constants from which one was computed.
        """
        arrays = {name: constant.array for name, constant in given}
        shapes: dict[str, Any] = {tensor.name: tensor.shape for tensor in self.graph.tensors}
        kept = tuple((name, Constant(arrays[origin].reshape(shapes[name]))) for name, origin in self.origins)
        return MadeOneByOne(replace(self.graph, constants=(*self.graph.constants, *kept)), tuple(names), forget)


class MadeOneByOne(Sequence[Array]):
    """Tensors that depend on constants alone. Each is computed whenever it is asked for and not kept: those for which operators
    run are never in memory together, nor are intermediates of theirs.
    """

    def __init__(self, graph: Graph, names: tuple[str, ...], forget: Callable[[Array], None]) -> None:
        self._names, self._graph, self._forget = names, graph, forget
        self._constants = dict(graph.constants)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Array]:
        """One after the other: an error of positions is an IndexError, which would end the iteration that sequences have."""
        return map(self._value, self._names)

    def __getitem__(self, place: Any) -> Any:
        chosen = self._names[place]
        return self._value(chosen) if isinstance(chosen, str) else [self._value(name) for name in chosen]

    def _value(self, name: str) -> Array:
        if name in self._constants:
            return self._constants[name].array
        from tilewright.graph.interpreter import evaluate  # 20 ms, and most kernels have no operators on constants

        operators = needed_operators(self._graph.operators, (name,))
        read = {access.tensor for operator in operators for access in operator.reads}
        constants = tuple(pair for pair in self._graph.constants if pair[0] in read)
        computed = evaluate(replace(self._graph, operators=tuple(operators), outputs=(name,), constants=constants), {})[name]
        for _, constant in constants:
            self._forget(constant.array)
        return computed


NO_CONSTANTS = Recipe(Graph("no_constants", (), (), (), ()), ())


def recipe(graph: Graph, names: Iterable[str], given: Named) -> Recipe:
    """How to make these tensors, which depend on constants alone, where constants of the graph are views of those given.

    >>> from tilewright.graph.builders.builder import Builder
    >>> builder = Builder("f")
    >>> weight = builder.constant(np.arange(100.0), "weight")
    >>> shifted = builder.map("add", weight, 1.0)
    >>> graph = builder.graph((shifted.name,))
    >>> made = recipe(graph, [shifted.name], graph.constants)
    >>> made.origins, float(made.made([("weight", Constant(np.ones(100)))], [shifted.name])[0][0])
    ((('weight', 'weight'),), 2.0)
    """
    from tilewright.graph.rewrites.redundancy import DeadCode

    wanted = DeadCode().run(replace(graph, inputs=(), outputs=tuple(names)))
    names_at: dict[Any, list[str]] = {}
    for name, constant in given:
        if not constant.decides:
            names_at.setdefault(_place(constant.array), []).append(name)
    found = ((name, names_at.get(_place(constant.array), ())) for name, constant in wanted.constants)
    origins = tuple((name, name if name in names else names[-1]) for name, names in found if names)
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


def extreme_constants(recipe: Recipe, given: Named) -> frozenset[str]:
    """The given constants that a recipe multiplies or divides, and that are not of moderate size, and those of which it says that
    they are finite, and that are not.

    Plans do not depend on the values of large constants, so whoever loads a kernel looks at those that it combines or checks.
    """
    arrays = {name: constant.array for name, constant in given}
    combined, checked = _combined_and_checked(recipe, arrays)
    extreme = {name for name in sorted(combined) if not is_moderate(arrays[name])}
    return frozenset(extreme | {name for name in sorted(checked - extreme) if not np.isfinite(arrays[name]).all()})


def _combined_and_checked(recipe: Recipe, arrays: Mapping[str, Array]) -> tuple[set[str], set[str]]:
    """The given constants that maps multiply or divide, as they are or moved, and those that maps check."""
    origins: dict[str, set[str]] = {name: {origin} for name, origin in recipe.origins}
    combined: set[str] = set()
    checked: set[str] = set()
    if any(_checks(operator) for operator in recipe.graph.operators):
        origins |= {name: _equal_ones(constant.array, arrays) for name, constant in recipe.graph.constants}
    for operator in recipe.graph.operators:
        read = set().union(*(origins.get(access.tensor, set()) for access in operator.reads))
        origins[operator.write.tensor] = read
        combined |= read if _combines(operator) else set()
        checked |= read if _checks(operator) else set()
    return combined, checked


def _equal_ones(own: Array, arrays: Mapping[str, Array]) -> set[str]:
    """The constants whose values a recipe holds."""
    alike = (name for name, array in arrays.items() if array.size == own.size and array.dtype == own.dtype and decide(array))
    return {name for name in alike if same_values(arrays[name].reshape(-1), own.reshape(-1))}


def _combines(operator: Operator) -> bool:
    return operator.is_map() and isinstance(operator.body, Apply) and not COMBINING.isdisjoint(operator.functions())


def _checks(operator: Operator) -> bool:
    return operator.is_map() and REPORT_NOT_FINITE in operator.functions()
