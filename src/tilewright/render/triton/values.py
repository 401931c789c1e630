"""Operands and results of leaves: what is read, in the type that is computed in; bodies of maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.block.memory import Gather, View
from tilewright.block.statements import Leaf
from tilewright.graph.exactness import HALVES, INTEGERS
from tilewright.graph.expressions.scalar import Load, Scalar
from tilewright.graph.expressions.scalar_functions import known_value
from tilewright.render.triton.memory import Box, Memory
from tilewright.render.triton.registers import Registers
from tilewright.render.triton.scalars import Helper, Values, condition_text, is_condition, scalar_text
from tilewright.render.triton.tiles import Dim, Tile, spread, together, type_text


@dataclass(slots=True)
class Writer:
    """What leaves write with."""

    memory: Memory
    registers: Registers
    helpers: set[Helper] = field(default_factory=set)
    """The functions of the module that the kernel calls."""

    def read(self, place: View | Gather, box: Box, order: Sequence[str] = ()) -> Tile:
        """An operand: a register tile, or what is loaded, axes of `order` first."""
        if self.registers.has(place):
            return self.registers.read(place, box)
        return self.memory.load(place, box, order)

    def assign(self, stem: str, text: str, dims: Sequence[Dim] = (), dtype: str = "float32") -> Tile:
        """A new name for a value."""
        name = self.memory.scopes.fresh(stem)
        self.memory.scopes.put(f"{name} = {text}")
        return Tile(name, tuple(dims), dtype)

    def write(self, view: View, box: Box, tile: Tile) -> None:
        """The result of a leaf is stored, or becomes the tile of its buffer; floats wait in float32, whatever the buffer has."""
        if view.buffer in self.memory.pointers:
            self.memory.store(view, box, self.assign(view.buffer.tensor, tile.text, tile.dims, tile.dtype))
            return
        if view.dtype != tile.dtype and view.dtype not in HALVES:
            tile = Tile(f"({tile.text}).to({type_text(view.dtype)})", tile.dims, view.dtype, tile.zero)
        self.registers.hold(view, box, tile)


def computed_type(leaf: Leaf) -> str:
    """The type in which a leaf computes: that of its binding, that of sums of integers, or float32."""
    accumulator = leaf.operator.accumulator
    return leaf.leaf.element_type or (accumulator if accumulator in INTEGERS or accumulator == "float64" else "float32")


def operands(writer: Writer, leaf: Leaf) -> dict[int, Tile]:
    """The reads that expressions use, by number; loads follow the order of dimensions of register tiles."""
    used = sorted({node.read for node in leaf.operator.scalars() if isinstance(node, Load)})
    held = {number: writer.read(leaf.reads[number], leaf.box) for number in used if writer.registers.has(leaf.reads[number])}
    longest = max((tile.dims for tile in held.values()), key=len, default=())
    order = [dim.axis for dim in longest] or order_of_write(leaf)
    loaded = {number: writer.read(leaf.reads[number], leaf.box, order) for number in used if number not in held}
    return {number: (held | loaded)[number] for number in used}


def order_of_write(leaf: Leaf) -> list[str]:
    """The axes of what is written, the farthest apart first."""
    known = [(axis, stride) for axis, stride in leaf.write.strides if isinstance(stride, int) and stride]
    return [axis for axis, _ in sorted(known, key=lambda pair: -pair[1])]


def dims_of(writer: Writer, leaf: Leaf, tiles: Mapping[int, Tile]) -> tuple[Dim, ...]:
    """The dimensions of a leaf's points: of its operands, and of the positions that it computes with."""
    ranges, order = dict(leaf.box), order_of_write(leaf)
    computed = [writer.memory.positions.of(axis, ranges[axis]).tile for axis in sorted(leaf.operator.computed_axes())]
    every = writer.memory.positions.sizes.dims(leaf.box, ranges)
    every = tuple(sorted(every, key=lambda dim: order.index(dim.axis) if dim.axis in order else -1))
    return together([*tiles.values(), *computed], every)


def values_of(writer: Writer, leaf: Leaf, tiles: Mapping[int, Tile], dims: Sequence[Dim]) -> Values:
    """The leaves of a body, over these dimensions."""
    ranges, dtype = dict(leaf.box), computed_type(leaf)

    def position(axis: str) -> str:
        return spread(writer.memory.positions.of(axis, ranges[axis]).tile, dims)

    reads = [tiles.get(number) for number in range(len(leaf.reads))]
    loads = [("", False) if tile is None else (_number(tile, dims, dtype), tile.dtype == "bool") for tile in reads]
    return Values(loads, position, dtype, helpers=writer.helpers)


def _number(tile: Tile, dims: Sequence[Dim], dtype: str) -> str:
    text = spread(tile, dims)
    return text if tile.dtype in ("bool", dtype) else f"{text}.to({type_text(dtype)})"


def write_map(writer: Writer, leaf: Leaf) -> None:
    """A map: its body of all points of the box."""
    tiles = operands(writer, leaf)
    dims = dims_of(writer, leaf, tiles)
    values, body = values_of(writer, leaf, tiles, dims), leaf.operator.body
    keeps = leaf.write.dtype == "bool" and is_condition(body, values)
    text, dtype = (condition_text(body, values), "bool") if keeps else (scalar_text(body, values), values.dtype)
    zero = frozenset(dim.axis for dim in dims if not values.is_whole and is_zero(body, tiles, dim.axis))
    writer.write(leaf.write, leaf.box, Tile(text, dims, dtype, zero))


def is_zero(body: Scalar, tiles: Mapping[int, Tile], axis: str) -> bool:
    """Whether a body is 0 behind the last point along an axis, where some of its operands are."""
    known: dict[Scalar, float] = {Load(number): 0.0 for number, tile in tiles.items() if axis in tile.zero}
    return bool(known) and known_value(body, known) == 0
