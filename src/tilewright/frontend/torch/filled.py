"""Tensors of one value."""

from __future__ import annotations

import numpy as np

from tilewright.graph.builders import elementwise
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import Extent
from tilewright.graph.types import Tensor


def filled(builder: Builder, value: float, shape: tuple[Extent, ...], dtype: str) -> Tensor:
    """A tensor with this value everywhere.

    >>> filled(Builder("f"), 1, (2, 3), "int64").shape
    (2, 3)
    """
    given = np.array(value, dtype)
    constant = builder.literal(given) if value == value else builder.constant(given)  # the entries of literals are compared
    return builder.record(elementwise.broadcast, constant, shape, kind="broadcast") if shape else constant
