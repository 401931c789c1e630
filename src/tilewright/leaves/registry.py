"""The registry of leaves: which leaf computes an operator. Nobody else asks what kind of operator it is.

A module of this package that defines `LEAF` is thereby registered.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.types import Operator, Tensor
from tilewright.leaves.declaration import Constraints, CostProblem, KernelWork, Leaf, Lowered, Problem, Refusal


@cache
def leaves() -> tuple[Leaf, ...]:
    """All leaves, in the order in which they are asked."""
    modules = (import_module(f"{__package__}.{found.name}") for found in pkgutil.iter_modules([str(Path(__file__).parent)]))
    found = (module.LEAF for module in modules if hasattr(module, "LEAF"))
    return tuple(sorted(found, key=lambda leaf: (leaf.order, leaf.name)))


@cache
def _by_name() -> dict[str, Leaf]:
    return {leaf.name: leaf for leaf in leaves()}


def tiles_of(problem: Problem) -> tuple[LeafBinding, ...]:
    """The bindings of the first leaf that takes an operator, one for each of its tiles: one of the general leaves does."""
    return next(found for leaf in leaves() if not isinstance(found := leaf.match(problem), Refusal))


@lru_cache(1024)
def binding_of(problem: Problem) -> LeafBinding:
    """The binding of an operator that no micro kernel computes."""
    return tiles_of(problem)[0]


def refusals(problem: Problem) -> list[Refusal]:
    """Why the leaves that are asked first do not compute an operator."""
    found: list[Refusal] = []
    for leaf in leaves():
        answer = leaf.match(problem)
        if not isinstance(answer, Refusal):
            break
        found.append(answer)
    return found


def bindings(operators: Iterable[Operator], tensors: Iterable[Tensor]) -> dict[str, LeafBinding]:
    """The bindings of operators, by name."""
    by_name = {tensor.name: tensor for tensor in tensors}
    return {operator.name: binding_of(Problem.of(operator, by_name)) for operator in operators}


def is_taken(leaf: str, operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    """Whether a leaf computes an operator: algorithms ask before they make one for it."""
    return binding_of(Problem.of(operator, tensors)).leaf == leaf


def leaf_of(binding: LeafBinding) -> Leaf:
    """The leaf of a binding."""
    return _by_name()[binding.leaf]


def constraints_of(binding: LeafBinding) -> Constraints:
    """What the leaf of a binding asks of the loops around it."""
    return leaf_of(binding).constraints(binding)


def kernel_work(binding: LeafBinding, problem: CostProblem) -> KernelWork:
    """What a micro kernel needs for an operator; nothing where none computes it."""
    work = leaf_of(binding).work
    return KernelWork(0.0, 0) if work is None else work(binding, problem)


def lowered(loops: Any) -> Lowered:
    """The C of the leaf that `VectorLoops` are bound to."""
    return leaf_of(loops.leaf).lower(loops, loops.leaf)
