"""Sizes of constants: whether products of several of them stay within the normal numbers of float32.

Weights take in what multiplies a product (`FoldAffineIntoWeights`), and divisors become reciprocals, when a kernel is loaded.
Plans do not depend on the values of large constants, so whoever loads a kernel looks at those that it combines.
"""

from __future__ import annotations

from tilewright.graph.constant_recipe import Named, Recipe
from tilewright.graph.constant_values import is_moderate
from tilewright.graph.scalar import Apply
from tilewright.graph.types import Operator

COMBINING = frozenset(("multiply", "divide", "reciprocal"))


def extreme_constants(recipe: Recipe, given: Named) -> frozenset[str]:
    """The given constants that a recipe multiplies or divides, and that are not of moderate size."""
    arrays = {name: constant.array for name, constant in given}
    return frozenset(name for name in sorted(_combined(recipe)) if not is_moderate(arrays[name]))


def _combined(recipe: Recipe) -> set[str]:
    """The given constants that maps multiply or divide, as they are or moved."""
    origins: dict[str, set[str]] = {name: {origin} for name, origin in recipe.origins}
    found: set[str] = set()
    for operator in recipe.graph.operators:
        read = set().union(*(origins.get(access.tensor, set()) for access in operator.reads))
        origins[operator.write.tensor] = read
        found |= read if _combines(operator) else set()
    return found


def _combines(operator: Operator) -> bool:
    return operator.is_map() and isinstance(operator.body, Apply) and not COMBINING.isdisjoint(operator.functions())
