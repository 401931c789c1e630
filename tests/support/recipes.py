"""The constants that a recipe makes, all at once."""

from __future__ import annotations

from tilewright.graph.constant_recipe import Array, Named, Recipe


def made_of(recipe: Recipe, given: Named) -> dict[str, Array]:
    """The outputs of a recipe by name, made of constants by name."""
    return dict(zip(recipe.graph.outputs, recipe.made(given, recipe.graph.outputs), strict=True))
