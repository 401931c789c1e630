"""SumTo: the sum over what broadcasting repeated, so that the result has the shape of another operand. Gradients need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.graph.definition import define
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

DOMAIN = "tilewright"
"""Of operators that no model has, and that importers put in the place of others."""


def repeated(shape: tuple[Any, ...], of: tuple[Any, ...]) -> tuple[int, ...]:
    """The dimensions of a shape along which an array of shape `of` is repeated by broadcasting.

    >>> repeated((5, 2, 3), (1, 3))
    (0, 1)
    """
    missing = len(shape) - len(of)
    return tuple(d for d, extent in enumerate(shape) if d < missing or (of[d - missing] == 1 and extent != 1))


def meaning(x: Any, like: Any) -> Any:
    """The same by NumPy."""
    return x.sum(axis=repeated(x.shape, like.shape), keepdims=True).reshape(like.shape)


def lower(builder: Builder, x: Tensor, like: Tensor) -> Tensor:
    """A sum, and another shape."""
    axes = repeated(x.shape, like.shape)
    return builder.reshape(builder.reduce("sum", x, axes, keepdims=True) if axes else x, like.shape)


define("SumTo", meaning, lower, domain=DOMAIN)
