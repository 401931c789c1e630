"""Lowering of what is fetched ahead: where the next block's part of an input lies, and how much of it a micro tile asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.codegen.expressions import Value
from tilewright.codegen.loop_nest import BlockLoop, Fetch, Gather, If, KernelCall, LoopNest, Node, ParallelAxis, Range
from tilewright.codegen.state import Lowering, Scope
from tilewright.graph.types import Access
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.chains import tensor_axes

LINE_FLOATS = 16


def with_fetches(state: Lowering, nest: LoopNest, scope: Scope) -> LoopNest:
    """The nest whose micro tiles ask for the next blocks of the inputs that the plan names; `scope` is that of one block."""
    tiles = sum(_tiles(node, state.kernels) for node in nest.body)
    fetches = tuple(_fetch(state, tensor, nest.parallel, scope, tiles) for tensor in state.plan.fetched if tiles)
    return replace(nest, fetches=fetches, body=_counting(nest.body, len(fetches))) if fetches else nest


def _fetch(state: Lowering, tensor: str, parallel: tuple[ParallelAxis, ...], scope: Scope, tiles: int) -> Fetch:
    """Blocks that read the same part share the work of fetching the next one."""
    access = next(read for operator in state.chain.operators for read in operator.reads if read.tensor == tensor)
    view = state.view(access, scope)
    assert not isinstance(view, Gather), f"{tensor} is fetched ahead by an index that is not affine"
    position = max(i for i, axis in enumerate(parallel) if axis.axis in access.axes())
    rows, columns = _sides(access, scope.ranges)
    sizes = [_size(scope.ranges, axis) for axis in (rows, columns)]
    capacity = [_capacity(scope.ranges, axis) for axis in (rows, columns)]
    sharing = 1
    for axis in parallel[position + 1 :]:
        sharing *= -(-_number(axis.extent) // axis.tile)
    lines = capacity[0] * -(-capacity[1] // LINE_FLOATS)
    row_stride, column_stride = view.stride(rows), view.stride(columns)
    return Fetch(tensor, view, sizes[0], row_stride, sizes[1], column_stride, -(-lines // (tiles * sharing)), position)


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
