"""Pixels of images as one axis: rows of products whose operands are windows.

A device that multiplies tiles wants long rows: `out[n, c, p // w, p % w]` has h w of them, where a row of an image has w. The
axes h and w of a product of windows, and of a product whose results windows read, become p; their reads divide, as
`p // w + dy - 1`. Images have one dimension for both wherever nothing divides then, arguments included: they are the same memory,
if their elements lie in a row there.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.expressions.index import Index, floordiv, mod
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.rewrites.index_changes.flatten_tensors import Joint, Work, divided
from tilewright.graph.types import Access, Axis, AxisKind, Graph, Operator


def with_joined_pixels(graph: Graph) -> tuple[Graph, dict[str, tuple[int, ...]]]:
    """The graph with one axis for the pixels of products of windows, and by name the dimensions of arguments that became one with
    the next.
    """
    images = _read_by_windows(graph)
    operators = [_joined(operator, images) for operator in graph.operators]
    work = _Work(Graph(graph.name, graph.tensors, tuple(operators), graph.inputs, graph.outputs, graph.constants))
    if all(new is old for new, old in zip(operators, graph.operators, strict=True)):
        return graph, {}
    work.flatten(frozenset(divided(work)))
    work.merge_all()
    return work.result(), work.joined


class _Work(Work):
    """A graph whose arguments may lose dimensions, each once."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, frozenset())
        self.arguments = {*graph.inputs, *graph.outputs}
        self.joined: dict[str, tuple[int, ...]] = {}

    def may_merge(self, joint: Joint) -> bool:
        """Arguments whose dimensions are joined have no other joint."""
        return joint[0] not in self.joined and super().may_merge(joint)

    def flatten(self, joints: frozenset[Joint]) -> set[int]:
        """As of all graphs."""
        self.joined |= {name: (dimension,) for name, dimension in joints if name in self.arguments}
        return super().flatten(joints)


def _read_by_windows(graph: Graph) -> frozenset[str]:
    """The images that products read at windows, and those that maps make these of."""
    found: set[str] = set()
    for operator in reversed(graph.operators):
        pair = _pixels(operator)
        if pair is not None:
            names = {axis.name for axis in pair}
            found |= {read.tensor for read in operator.reads if _moves(read, names)}
        elif operator.is_map() and operator.write.tensor in found:
            found |= {read.tensor for read in operator.reads}
    return frozenset(found)


def _joined(operator: Operator, images: frozenset[str]) -> Operator:
    """A product of windows, or one that makes what windows read, with one axis for its pixels; others as they are."""
    pair = _pixels(operator)
    if pair is None or not (_has_windows(operator, pair) or operator.write.tensor in images):
        return operator
    rows, columns = pair
    width = columns.extent
    assert isinstance(width, int)
    assert isinstance(rows.extent, int)
    name = _free_name(operator, f"{rows.name}_{columns.name}")
    extents = {axis.name: axis.extent for axis in operator.axes if isinstance(axis.extent, int)}
    extents |= {name: rows.extent * width}
    pixel = axis_index(name)
    values: Mapping[str, Index] = {rows.name: floordiv(pixel, width, extents), columns.name: mod(pixel, width, extents)}
    changed = operator.with_indices(lambda index: index.substitute(values, extents))
    axes = tuple(Axis(name, extents[name]) if axis is rows else axis for axis in operator.axes if axis is not columns)
    return Operator(
        changed.name, changed.kind, axes, changed.reads, changed.write, changed.body, changed.reduction, changed.accumulator
    )


def _pixels(operator: Operator) -> tuple[Axis, Axis] | None:
    """The last two axes of the results of a product, where each is a dimension."""
    if not operator.is_product_sum() or len(operator.write.indices) < 2:
        return None
    last = operator.write.indices[-2:]
    if not all(index.is_axis() for index in last):
        return None
    rows, columns = (operator.axis(str(index)) for index in last)
    is_known = all(isinstance(axis.extent, int) and axis.extent > 1 for axis in (rows, columns))
    is_parallel = rows is not columns and all(axis.kind is AxisKind.PARALLEL for axis in (rows, columns))
    return (rows, columns) if is_known and is_parallel else None


def _has_windows(operator: Operator, pair: tuple[Axis, Axis]) -> bool:
    """Whether an operand is read at positions that depend on both a pixel and another axis, or in steps."""
    names = {axis.name for axis in pair}
    return any(_moves(read, names) for read in operator.reads)


def _moves(read: Access, names: set[str]) -> bool:
    return any(index.axes() & names and not index.is_axis() for index in read.indices)


def _free_name(operator: Operator, wanted: str) -> str:
    while wanted in operator.axis_names:
        wanted += "_"
    return wanted
