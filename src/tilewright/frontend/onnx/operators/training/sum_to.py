"""SumTo: the sum over the elements that broadcasting repeated, so that the result has the shape of another operand.

No model has this operator: gradients of broadcasts are made of it.
"""

from __future__ import annotations

from typing import Any

from tilewright.frontend.onnx.definition import INTERNAL_DOMAIN, define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


class SumTo:
    """The sum along repeated dimensions."""

    def reference(self, x: Any, like: Any) -> Any:
        return x.sum(axis=repeated(x.shape, like.shape), keepdims=True).reshape(like.shape)

    def lower(self, builder: Builder, x: Tensor, like: Tensor) -> Tensor:
        axes = repeated(x.shape, like.shape)
        return builder.reshape(builder.reduce("sum", x, axes, keepdims=True) if axes else x, like.shape)


def repeated(shape: tuple[Any, ...], of: tuple[Any, ...]) -> tuple[int, ...]:
    """The dimensions of a shape along which an array of shape `of` is repeated by broadcasting.

    >>> repeated((5, 2, 3), (1, 3))
    (0, 1)
    """
    missing = len(shape) - len(of)
    return tuple(d for d, extent in enumerate(shape) if d < missing or (of[d - missing] == 1 and extent != 1))


define("SumTo", SumTo, domain=INTERNAL_DOMAIN)
