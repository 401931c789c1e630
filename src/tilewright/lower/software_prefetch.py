"""Lowering of software prefetch: where the next block's part of an input lies, and how much of it a micro tile asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import Range, View
from tilewright.block.program import mapped
from tilewright.block.statements import For, If, MatrixTiles, Prefetch, Statement
from tilewright.graph.types import Access, Operator, element_bytes
from tilewright.kernels.contract import LINE_BYTES, MicroKernel
from tilewright.lower.context import Lowering, Packed, Scope
from tilewright.plan.chains import tensor_axes


def with_software_prefetches(
    state: Lowering, parallel: tuple[For, ...], body: tuple[Statement, ...], scope: Scope
) -> tuple[Statement, ...]:
    """The body of a block whose micro tiles ask for the next blocks of the inputs that the plan names; `scope` is its own."""
    tiles = sum(_tiles(node, state) for node in body)
    if not tiles or not state.plan.prefetched_inputs:
        return body
    fetches = tuple(_software_prefetch(state, name, parallel, scope, tiles) for name in state.plan.prefetched_inputs)
    return (*fetches, *mapped(body, lambda node: (_with_count(node, state.plan.prefetching_operators, len(fetches)),)))


def _software_prefetch(state: Lowering, tensor: str, parallel: tuple[For, ...], scope: Scope, tiles: int) -> Prefetch:
    """Blocks that read the same part share the work of fetching the next one."""
    operator, number = _reader(state, tensor, frozenset(axis.axis for axis in parallel))
    access = operator.reads[number]
    position = max(i for i, axis in enumerate(parallel) if axis.axis in access.axes())
    is_packed_ahead = any((pack.operator, pack.read) == (operator.name, number) for pack in state.plan.schedule.ahead)
    packed = state.packed[operator.name, number] if is_packed_ahead else None
    axis = parallel[position].axis
    whole = _matrix(state, access, axis, scope) if packed is None else _packed(packed, axis, scope)
    sharing = prod(-(-_number(axis.whole.size) // axis.tile) for axis in parallel[position + 1 :])
    return replace(whole, lines=-(-whole.lines // (tiles * sharing)))


def _reader(state: Lowering, tensor: str, moving: frozenset[str]) -> tuple[Operator, int]:
    """The first contraction that reads another part of a tensor in other blocks, and the number of that read."""
    return next(
        (operator, number)
        for operator in state.chain.operators
        for number, read in enumerate(operator.reads)
        if operator.is_contraction() and read.tensor == tensor and moving & read.axes()
    )


def _matrix(state: Lowering, access: Access, axis: str, scope: Scope) -> Prefetch:
    """All lines that a block reads of a tensor as the caller laid it out."""
    view = state.strided(access, scope)
    rows, columns = _sides(access, scope.ranges)
    lines = _capacity(scope.ranges, rows) * _lines(_capacity(scope.ranges, columns), view)
    row_size, column_size = _size(scope.ranges, rows), _size(scope.ranges, columns)
    return Prefetch(axis, view, row_size, view.stride(rows), column_size, view.stride(columns), lines)


def _packed(packed: Packed, axis: str, scope: Scope) -> Prefetch:
    """All lines of a constant that was packed ahead: the panels of a block of `axis` lie one after the other."""
    elements, view = _number(packed.steps[axis] * scope.ranges[axis].capacity), packed.view(scope)
    return Prefetch(axis, view, 1, 0, elements, 1, _lines(elements, view))


def _lines(elements: int, view: View) -> int:
    """The cache lines of elements that lie side by side."""
    return -(-elements * element_bytes(view.dtype) // LINE_BYTES)


def _sides(access: Access, ranges: Mapping[str, Range]) -> tuple[str | None, str | None]:
    """The axes of the rows and of the columns of what a block reads: of its last two dimensions of more than one element."""
    axes = [axis for axis in tensor_axes(access) if _number(ranges[axis].capacity) > 1]
    return (axes[-2] if len(axes) > 1 else None), (axes[-1] if axes else None)


def _size(ranges: Mapping[str, Range], axis: str | None) -> IntegerExpression:
    return ranges[axis].size if axis is not None else 1


def _capacity(ranges: Mapping[str, Range], axis: str | None) -> int:
    return _number(ranges[axis].capacity) if axis is not None else 1


def _tiles(node: Statement, state: Lowering) -> int:
    """How many micro tiles that ask a node has, at most; 0 if that is not known."""
    match node:
        case For(whole=whole, tile=tile, body=body):
            trips = -(-whole.size // tile) if isinstance(whole.start, int) and isinstance(whole.size, int) else 0
            return trips * sum(_tiles(inner, state) for inner in body)
        case If(body=body):
            return sum(_tiles(inner, state) for inner in body)
        case MatrixTiles(operator=operator) if operator.name in state.plan.prefetching_operators:
            kernel = state.kernels[node.tile.micro_kernel]
            return max((_tiles_of(kernel, rows, columns) for rows, columns in node.shapes or ()), default=0)
        case _:
            return 0


def _tiles_of(kernel: MicroKernel, rows: int, columns: int) -> int:
    """The micro tiles of a block: whole panels, and a last one whose tiles may be taller."""
    panels, rest = divmod(columns, kernel.columns)
    return panels * -(-rows // kernel.rows) + (-(-rows // kernel.rows_for(rest)) if rest else 0)


def _with_count(node: Statement, operators: tuple[str, ...], software_prefetches: int) -> Statement:
    """The same node; a kernel call for one of these operators knows of so many fetches."""
    if isinstance(node, MatrixTiles) and node.shapes is not None and node.operator.name in operators:
        return replace(node, software_prefetches=software_prefetches)
    return node


def _number(value: IntegerExpression) -> int:
    assert isinstance(value, int), "what is fetched ahead has a known size"
    return value
