"""Tiles of a plan: which order of blocks, how large they are, what stays in L1, and which buffers exist twice.

    VECTORS    rows, columns:                     vector operators
    TILE       rows, columns:                     { depth: product }, vector operators, result
    ROWS       rows:                              { columns: { depth: product } }, vector operators on whole rows, result
    STREAM     rows, second columns:              { columns: { depth: product }, vector operators, { product } }, result
    RESIDENT   rows: { columns: { depth: product } }, vector operators, { second columns: { columns: product }, result }

Before the colon stand the blocks that are dealt to cores. STREAM keeps the sums of the second product in L0C, and computes the
first product again for every block of second columns; RESIDENT keeps whole rows of the intermediate in L1, and computes it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import IntEnum
from math import prod

from tilewright.arrays import Count, spread
from tilewright.backends.npu_simulator.figures import LANES
from tilewright.backends.npu_simulator.shape import ChainShape
from tilewright.graph.types import Chain
from tilewright.plan.schedule import Compute, Loop, Node, Schedule, Storage
from tilewright.records import record


class Order(IntEnum):
    """An order of blocks."""

    VECTORS = 0
    TILE = 1
    ROWS = 2
    STREAM = 3
    RESIDENT = 4


@record
class Extents:
    """The extents of a chain: positions around the matrices, rows, columns and depth of the first product, columns of the second.

    1 where the chain has no such axis.
    """

    outer: int
    rows: Count
    columns: Count
    depth: Count
    second: Count

    @staticmethod
    def of(chain: Chain, shape: ChainShape) -> Extents:
        """Those of a chain."""
        size = {axis: int(extent) for axis, extent in chain.extents.items() if isinstance(extent, int)} | {"": 1}
        product, last = shape.first.product, shape.last
        depth = (product.roles.depth or "") if product is not None else ""
        second = (last.column or "") if len(shape.stages) == 2 else ""
        names = (shape.first.row or "", shape.first.column or "", depth, second)
        return Extents(prod(size[axis] for axis in shape.outer), *(size[name] for name in names))


@record
class Tiles:
    """The sizes of blocks, in elements: multiples of 16, which may be more than the extent. Fields may be arrays."""

    order: Order
    rows: Count
    columns: Count = LANES
    depth: Count = LANES
    """Steps of the first product from one transfer into L0A and L0B to the next."""
    second: Count = LANES
    second_depth: Count = LANES
    """The same of the second product, which sums along the first one's columns."""
    keeps_left: Count = 0
    """1 where L1 keeps the whole depth of a block's left rows, 0 where every block of columns loads slices of them."""
    slices: Count = 2
    """Buffers of a slice of the depth, of each kind."""
    middle: Count = 1
    """Buffers of what passes in a block of columns: sums, what the vector unit makes of them, operands of the second product."""
    outer: Count = 1
    """Buffers of what passes in a block of rows."""

    def numbers(self) -> tuple[tuple[str, float], ...]:
        """As a binding holds them."""
        return tuple((field.name, float(getattr(self, field.name))) for field in fields(self))

    @staticmethod
    def of(numbers: Mapping[str, float]) -> Tiles:
        """The tiles that a binding holds."""
        values = {name: int(value) for name, value in numbers.items() if name != "order"}
        return Tiles(Order(int(numbers["order"])), **values)

    def at(self, place: tuple[int, ...], shape: tuple[int, ...]) -> Tiles:
        """One of many candidates, by its place in arrays of this shape."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "order"}
        return Tiles(self.order, **{name: int(spread(value, shape)[place]) for name, value in values.items()})


def filled(count: Count) -> Count:
    """Up to whole blocks of 16.

    >>> filled(1), filled(32)
    (16, 32)
    """
    return blocks_of(count, LANES) * LANES


def blocks_of(extent: Count, tile: Count) -> Count:
    """Blocks, begun ones included."""
    return -(-extent // tile)


def schedule_of(chain: Chain, shape: ChainShape, tiles: Tiles) -> tuple[Schedule, tuple[str, ...]]:
    """The loops of these tiles as a tree, and the axes whose blocks are dealt to cores."""
    first, last = shape.first, shape.last
    vectors = tuple(Compute(operator.name) for operator in first.vectors)
    dealt = [*((axis, 1) for axis in shape.outer), (first.row, int(tiles.rows))]
    body: tuple[Node, ...]
    match tiles.order:
        case Order.VECTORS:
            dealt.append((first.column, int(tiles.columns)))
            body = vectors
        case Order.TILE:
            dealt.append((first.column, int(tiles.columns)))
            body = (*_product(shape, 0, tiles), *vectors)
        case Order.ROWS:
            body = (*_loop(first.column, tiles.columns, _product(shape, 0, tiles)), *vectors)
        case Order.STREAM:
            dealt.append((last.column, int(tiles.second)))
            passing = (*_product(shape, 0, tiles), *vectors, *_product(shape, 1, tiles))
            body = (*_loop(first.column, tiles.columns, passing), *_results(shape))
        case Order.RESIDENT:
            inside, behind = ((), vectors) if first.has_rows else (vectors, ())
            ends = (*_product(shape, 1, tiles), *_results(shape))
            made = _loop(first.column, tiles.columns, (*_product(shape, 0, tiles), *inside))
            body = (*made, *behind, *_loop(last.column, tiles.second, ends))
    loops = [(axis, tile) for axis, tile in dealt if axis is not None]
    for axis, tile in reversed(loops):
        body = (Loop(axis, tile, body),)
    is_again = tiles.order is Order.STREAM and _is_cut(chain, last.column, tiles.second)
    kept = {operator.write.tensor for operator in chain.operators[: _first_count(shape)]} if is_again else set()
    storage = tuple((tensor, Storage.RECOMPUTE) for tensor in chain.intermediates if tensor in kept)
    return Schedule(body, storage), tuple(axis for axis, _ in loops)


def _first_count(shape: ChainShape) -> int:
    """The operators of the first stage."""
    return len(shape.first.vectors) + (shape.first.product is not None)


def _is_cut(chain: Chain, axis: str | None, tile: Count) -> bool:
    extent = chain.extents[axis] if axis is not None else 1
    return isinstance(extent, int) and extent > int(tile)


def _product(shape: ChainShape, number: int, tiles: Tiles) -> tuple[Node, ...]:
    product = shape.stages[number].product
    assert product is not None
    return _loop(product.roles.depth, tiles.second_depth if number else tiles.depth, (Compute(product.operator.name),))


def _results(shape: ChainShape) -> tuple[Node, ...]:
    return tuple(Compute(operator.name) for operator in shape.last.vectors)


def _loop(axis: str | None, tile: Count, body: tuple[Node, ...]) -> tuple[Node, ...]:
    return (Loop(axis, int(tile), body),) if axis is not None else body
