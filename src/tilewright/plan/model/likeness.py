"""Likeness of operators under loops: equal for equal layers inside loops with equal tiles, whose work is then the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tilewright.graph.types import Operator
from tilewright.plan.arrays import Condition, Quantity
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.regions.loop_views import OperatorView


def likeness(context: CostContext, view: OperatorView) -> Hashable:
    """Equal for views of operators of one kind with equal loops and tiles, but for names; that of others is theirs alone."""
    name = view.operator.name
    kind = context.kinds.get(name)
    if kind is None or view.regions or view.conditions:
        return name
    places = {axis.name: place for place, axis in enumerate(view.operator.axes)}
    loops = tuple((places.get(loop.axis, loop.axis), content(loop.trips)) for loop in view.loops)
    kernel = context.kernels[name].name if name in context.kernels else ""
    return kind, kernel, loops, tuple(content(view.tiles[axis]) for axis in places)


def axes_of_like(first: Operator, second: Operator, axes: Sequence[str]) -> tuple[str, ...]:
    """The axes of an operator that stand where these do in another of its kind."""
    names = {old.name: new.name for old, new in zip(first.axes, second.axes, strict=True)}
    return tuple(names[axis] for axis in axes)


def content(figures: Quantity | Condition) -> Hashable:
    """Equal for equal numbers, or arrays."""
    return (figures.shape, figures.tobytes()) if isinstance(figures, np.ndarray) else figures
