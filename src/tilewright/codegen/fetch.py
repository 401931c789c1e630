"""Lowering of what is fetched ahead: where the next block's part of an input lies, and how much of it a micro tile asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tilewright.codegen.expressions import Value, multiply
from tilewright.codegen.loop_nest import BlockLoop, Fetch, Gather, If, KernelCall, LoopNest, Node, ParallelAxis, Range, View
from tilewright.codegen.state import Lowering, Packed, Scope
from tilewright.graph.types import Access
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.chains import tensor_axes

LINE_FLOATS = 16


def with_fetches(state: Lowering, nest: LoopNest, scope: Scope) -> LoopNest:
    """The nest whose micro tiles ask for the next blocks of the inputs that the plan names; `scope` is that of one block."""
    tiles = sum(_tiles(node, state.kernels) for node in nest.body)
    fetches = tuple(_fetch(state, tensor, nest.parallel, scope, tiles) for tensor in state.plan.fetched if tiles)
    return replace(nest, fetches=fetches, body=_counting(nest.body, len(fetches))) if fetches else nest


@dataclass(frozen=True, slots=True)
class Part:
    """What a block reads of an input: rows of columns, and at most how many floats."""

    view: View
    rows: Value
    row_stride: Value
    columns: Value
    column_stride: Value
    lines: int


def _fetch(state: Lowering, tensor: str, parallel: tuple[ParallelAxis, ...], scope: Scope, tiles: int) -> Fetch:
    """Blocks that read the same part share the work of fetching the next one."""
    operator, number = next(
        (operator, number)
        for operator in state.chain.operators
        for number, read in enumerate(operator.reads)
        if read.tensor == tensor
    )
    access = operator.reads[number]
    position = max(i for i, axis in enumerate(parallel) if axis.axis in access.axes())
    is_packed_ahead = any((pack.operator, pack.read) == (operator.name, number) for pack in state.plan.schedule.ahead)
    packed = state.packed[operator.name, number] if is_packed_ahead else None
    part = _matrix(state, access, scope) if packed is None else _packed_part(packed, parallel[position].axis, scope)
    sharing = prod(-(-_number(axis.extent) // axis.tile) for axis in parallel[position + 1 :])
    lines = -(-part.lines // (tiles * sharing))
    return Fetch(tensor, part.view, part.rows, part.row_stride, part.columns, part.column_stride, lines, position)


def _matrix(state: Lowering, access: Access, scope: Scope) -> Part:
    """Where a tensor is read as the caller laid it out."""
    view = state.view(access, scope)
    assert not isinstance(view, Gather), f"{access.tensor} is fetched ahead by an index that is not affine"
    rows, columns = _sides(access, scope.ranges)
    lines = _capacity(scope.ranges, rows) * -(-_capacity(scope.ranges, columns) // LINE_FLOATS)
    row_size, column_size = _size(scope.ranges, rows), _size(scope.ranges, columns)
    return Part(view, row_size, view.stride(rows), column_size, view.stride(columns), lines)


def _packed_part(packed: Packed, axis: str, scope: Scope) -> Part:
    """Where a constant was packed ahead: all panels of a block of `axis`, which lie one after the other."""
    elements = _number(multiply(packed.steps[axis], scope.ranges[axis].capacity))
    return Part(packed.view(scope), 1, 0, elements, 1, -(-elements // LINE_FLOATS))


def _sides(access: Access, ranges: Mapping[str, Range]) -> tuple[str | None, str | None]:
    """The axes of the rows and of the columns of what a block reads: of its last two dimensions of more than one element."""
    axes = [axis for axis in tensor_axes(access) if _number(ranges[axis].capacity) > 1]
    return (axes[-2] if len(axes) > 1 else None), (axes[-1] if axes else None)


def _size(ranges: Mapping[str, Range], axis: str | None) -> Value:
    return ranges[axis].size if axis is not None else 1


def _capacity(ranges: Mapping[str, Range], axis: str | None) -> int:
    return _number(ranges[axis].capacity) if axis is not None else 1


def _tiles(node: Node, kernels: Mapping[str, MicroKernel]) -> int:
    """How many micro tiles a node has, at most; 0 if that is not known."""
    match node:
        case BlockLoop(start=start, stop=stop, tile=tile, body=body):
            trips = -(-(stop - start) // tile) if isinstance(start, int) and isinstance(stop, int) else 0
            return trips * sum(_tiles(inner, kernels) for inner in body)
        case If(body=body):
            return sum(_tiles(inner, kernels) for inner in body)
        case KernelCall(kernel=name, shapes=shapes) if shapes is not None:
            kernel = kernels[name]
            return max((-(-rows // kernel.rows) * -(-columns // kernel.columns) for rows, columns in shapes), default=0)
        case _:
            return 0


def _counting(body: tuple[Node, ...], fetches: int) -> tuple[Node, ...]:
    """The same nodes, whose kernel calls know of so many fetches."""
    return tuple(_told(node, fetches) for node in body)


def _told(node: Node, fetches: int) -> Node:
    match node:
        case BlockLoop() | If():
            return replace(node, body=_counting(node.body, fetches))
        case KernelCall(shapes=shapes) if shapes is not None:
            return replace(node, fetches=fetches)
        case _:
            return node


def _number(value: Value) -> int:
    assert isinstance(value, int), "what is fetched ahead has a known size"
    return value
