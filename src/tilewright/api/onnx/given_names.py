"""Names that a model's file gives to operators and tensors: bound to a plan when it is printed.

A graph has names of its own, which are identifiers. So code of models that differ in names only is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, combinations, count
from math import prod

from tilewright.graph.types import Chain, Graph, Tensor, planned_extent
from tilewright.plan.binding import bound_model
from tilewright.plan.chains import Names
from tilewright.plan.types import ModelPlan


def with_given_names(
    model_plan: ModelPlan, imported: Graph, operators: Mapping[str, str], tensors: Mapping[str, str]
) -> ModelPlan:
    """The plan in given names, by those of the imported graph; what has none, such as what rewrites made, keeps its name."""
    parts: list[Graph | Chain] = [model_plan.graph, *(plan.chain for plan in model_plan.plans)]
    reused = _reused(model_plan, imported)
    tensors = {name: given for name, given in tensors.items() if name not in reused}
    known_tensors = [tensor.name for part in parts for tensor in part.tensors]
    known_operators = [operator.name for part in parts for operator in part.operators]
    return bound_model(model_plan, Names(_OrSame(), _unique(known_tensors, tensors), _unique(known_operators, operators)))


def _reused(model_plan: ModelPlan, imported: Graph) -> frozenset[str]:
    """Names that became free when rewrites removed the imported tensors, and that tensors of algorithms have now: those of
    another shape. Of the same tensor dimensions may have another order, and may be joined or split."""
    shapes = {tensor.name: _extents(tensor) for tensor in imported.tensors}
    written = {operator.write.tensor for operator in imported.operators}
    held = {tensor.name: _extents(tensor) for plan in model_plan.plans for tensor in plan.chain.tensors}
    pairs = ((name, shapes[name], held[name]) for name in held.keys() & written)
    return frozenset(name for name, before, now in pairs if not (_joins(before, now) or _joins(now, before)))


def _extents(tensor: Tensor) -> tuple[int, ...]:
    return tuple(extent for extent in map(planned_extent, tensor.shape) if extent != 1)


def _joins(parts: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether every extent of the shape is the product of some of the parts, of which each is used once.

    >>> _joins((2, 3, 4), (4, 6)), _joins((2, 3, 4), (3, 8)), _joins((4, 9), (6, 6))
    (True, True, False)
    """
    if sorted(parts) == sorted(shape):
        return True
    if prod(parts) != prod(shape) or not shape:
        return False
    numbers = range(len(parts))
    groups = (group for size in range(1, len(parts) + 1) for group in combinations(numbers, size))
    fitting = (group for group in groups if prod(parts[number] for number in group) == shape[0])
    return any(_joins(tuple(parts[number] for number in numbers if number not in group), shape[1:]) for group in fitting)


class _OrSame(dict[str, str]):
    """Other names; what is not in it has none."""

    def __missing__(self, name: str) -> str:
        return name


def _unique(names: Iterable[str], given: Mapping[str, str]) -> Mapping[str, str]:
    """The given names, with a number behind those that are taken: files may give a name twice.

    >>> _unique(["matmul", "add", "t_1"], {"matmul": "layer", "add": "layer"})
    {'matmul': 'layer', 'add': 'layer@2'}
    """
    every = dict.fromkeys(names)
    taken = every.keys() - given.keys()
    found = _OrSame()
    for name in every:
        if name in given:
            candidates = chain((given[name],), (f"{given[name]}@{number}" for number in count(2)))
            found[name] = next(candidate for candidate in candidates if candidate not in taken)
            taken.add(found[name])
    return found
