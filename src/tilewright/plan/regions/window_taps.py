"""Reduction axes that move within windows: no lanes are folded along them."""

from __future__ import annotations

from tilewright.graph.types import Operator


def window_taps(operator: Operator) -> frozenset[str]:
    """The reduction axes that move within a window over another axis: lanes run along that one, and no lanes are folded.

    >>> from tilewright.graph.expressions.index import axis
    >>> from tilewright.graph.expressions.scalar import Load
    >>> from tilewright.graph.types import Access, Axis, AxisKind
    >>> taps = Access("x", (axis("o") + axis("k"),))
    >>> axes = (Axis("o", 8), Axis("k", 3, AxisKind.REDUCTION))
    >>> sorted(window_taps(Operator("pool", "pool", axes, (taps,), Access("y", (axis("o"),)), Load(0))))
    ['k']
    """
    reduced = {axis.name for axis in operator.reduction_axes()}
    windows = (index.axes() for access in operator.reads for index in access.indices if len(index.axes()) > 1)
    return frozenset(axis for axes in windows for axis in axes & reduced if axes - reduced)
