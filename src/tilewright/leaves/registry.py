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
from tilewright.leaves.declaration import Leaf, Lowered, Problem


@cache
def leaves() -> tuple[Leaf, ...]:
    """All leaves, in the order in which they are asked."""
    modules = (import_module(f"{__package__}.{found.name}") for found in pkgutil.iter_modules([str(Path(__file__).parent)]))
    found = (module.LEAF for module in modules if hasattr(module, "LEAF"))
    return tuple(sorted(found, key=lambda leaf: (leaf.order, leaf.name)))


@lru_cache(1024)
def binding_of(problem: Problem) -> LeafBinding | None:
    """The first leaf that takes an operator; None where general vector loops compute it."""
    answers = (leaf.match(problem) for leaf in leaves())
    return next((found for found in answers if isinstance(found, LeafBinding)), None)


def bindings(operators: Iterable[Operator], tensors: Iterable[Tensor]) -> dict[str, LeafBinding]:
    """The bindings of the operators that leaves take, by name."""
    by_name = {tensor.name: tensor for tensor in tensors}
    found = ((operator.name, binding_of(Problem.of(operator, by_name))) for operator in operators)
    return {name: binding for name, binding in found if binding is not None}


def is_taken(leaf: str, operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    """Whether a leaf computes an operator: algorithms ask before they make one for it."""
    binding = binding_of(Problem.of(operator, tensors))
    return binding is not None and binding.leaf == leaf


def leaf_of(binding: LeafBinding) -> Leaf:
    """The leaf of a binding."""
    return next(leaf for leaf in leaves() if leaf.name == binding.leaf)


def lowered(loops: Any) -> Lowered | None:
    """The C of the leaf that `VectorLoops` are bound to; None where there is none, or operands do not lie as it needs them."""
    return None if loops.leaf is None else leaf_of(loops.leaf).lower(loops, loops.leaf)
