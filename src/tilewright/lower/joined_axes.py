"""Loops of rows along which elements lie side by side over several axes: one loop, without lanes left over at the end of each.

Heights and widths of an image are two axes of its arguments. A reduction over both, whose operands have them behind each other
without a gap, walks their product.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tilewright.block.memory import Range, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.rewrites.index_changes.flatten_tensors import with_one_axis
from tilewright.graph.types import Axis


def with_joined_axes(loops: VectorLoops) -> VectorLoops:
    """The loops with one axis for every two neighbours of one kind, of which the last one is whole and without a gap.

    Leaves know windows by their axes, which stay.
    """
    if loops.leaf.windows or any(not isinstance(read, View) for read in loops.reads):
        return loops
    for outer, inner in pairwise(loops.operator.axes):
        if _are_side_by_side(loops, outer, inner):
            return with_joined_axes(_joined(loops, outer.name, inner.name))
    return loops


def _are_side_by_side(loops: VectorLoops, outer: Axis, inner: Axis) -> bool:
    """Whether the last element along the inner axis is followed by the next one along the outer axis, in all operands."""
    ranges = dict(loops.box)
    whole, rows = ranges[inner.name], ranges[outer.name]
    is_known = isinstance(whole.size, int) and isinstance(rows.size, int) and whole.start == 0 and rows.start == 0
    if not is_known or outer.kind is not inner.kind or whole.size != inner.extent or rows.size != outer.extent:
        return False
    if loops.vector_axis == outer.name or loops.operator.computed_axes() & {outer.name, inner.name}:
        return False
    views = (*loops.reads, *loops.places())
    return all(isinstance(view, View) and view.stride(outer.name) == view.stride(inner.name) * whole.size for view in views)


def _joined(loops: VectorLoops, outer: str, inner: str) -> VectorLoops:
    ranges = dict(loops.box)
    size = ranges[outer].size * ranges[inner].size
    assert isinstance(size, int)
    box = tuple(
        (axis, Range(0, size, size, frozenset((size,))) if axis == outer else span) for axis, span in loops.box if axis != inner
    )

    def joined(view: View) -> View:
        strides = ((axis, view.stride(inner) if axis == outer else stride) for axis, stride in view.strides if axis != inner)
        return replace(view, strides=tuple(strides))

    lanes = outer if loops.vector_axis == inner else loops.vector_axis
    changed = replace(loops, operator=with_one_axis(loops.operator, (outer, inner)), box=box, vector_axis=lanes)
    return changed.with_views(joined)
