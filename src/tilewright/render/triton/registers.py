"""Register tiles: what the buffers of a block hold."""

from __future__ import annotations

from tilewright.block.integers import IntegerExpression, Variable, evaluated, nodes
from tilewright.block.memory import BufferName, Gather, View
from tilewright.records import record
from tilewright.render.triton.memory import Box, Memory, guard_tests
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.scalars import is_float, number
from tilewright.render.triton.tiles import Dim, Tile, spread


@record
class Held:
    """The tile of a buffer, and where its dimensions lie in the buffer."""

    tile: Tile
    strides: tuple[tuple[Dim, IntegerExpression], ...]
    offset: IntegerExpression


class Registers:
    """The tiles of all buffers, by name."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._held: dict[BufferName, Held] = {}
        self._names: dict[BufferName, str] = {}

    def has(self, place: View | Gather) -> bool:
        """Whether an operand is a tile."""
        return place.buffer in self._held

    def dims(self, view: View, box: Box) -> tuple[Dim, ...]:
        """The dimensions of the tile of a box."""
        return self.memory.positions.sizes.dims(box, (axis for axis, stride in view.strides if stride != 0))

    def read(self, view: View | Gather, box: Box) -> Tile:
        """The tile that a view shows, by the axes of its box. Raises `UnsupportedOperation` for parts of it."""
        held = self._held[view.buffer]
        if isinstance(view, Gather):
            return self._guarded(view, box, held)
        if view.offset != held.offset:
            raise refused(f"a part of {view.buffer}", "a register tile is read as a whole")
        names = self._renamed(view, box, held)
        dims = tuple(Dim(names[dim.axis], dim.size) for dim in held.tile.dims)
        return Tile(held.tile.text, dims, held.tile.dtype, frozenset(names[axis] for axis in held.tile.zero))

    def _guarded(self, gather: Gather, box: Box, held: Held) -> Tile:
        """A tile at its own positions, where a guard holds; elsewhere what the guard says."""
        tile = self.read(_at_own_positions(gather, box, held), box)
        spans = self.memory.positions_of(gather, box, [dim.axis for dim in tile.dims])
        dims = tuple(position.dim for position in spans.values() if position.dim is not None)
        tests = guard_tests(gather, spans, dims)
        if gather.guard is None or not tests:
            return tile
        otherwise = number(gather.guard.otherwise, is_whole=not is_float(tile.dtype))
        name = self.memory.scopes.fresh("guarded")
        self.memory.scopes.put(f"{name} = tl.where({' & '.join(tests)}, {spread(tile, dims)}, {otherwise})")
        return Tile(name, dims, tile.dtype, tile.zero if gather.guard.otherwise == 0 else frozenset())

    def _renamed(self, view: View, box: Box, held: Held) -> dict[str, str]:
        """By axis of what was written that of the reader along the same dimension."""
        own, places = {stride: dim for dim, stride in held.strides}, dict(held.strides)
        found: dict[str, str] = {}
        for dim in self.dims(view, box):
            stride = view.stride(dim.axis)
            there = dim if places.get(dim) == stride else own.get(stride)
            if there is None or there.size != dim.size:
                raise refused(f"{view.buffer} along {dim.axis}", "its tile was written in blocks of another size")
            found[there.axis] = dim.axis
        if missing := [dim.axis for dim in held.tile.dims if dim.axis not in found]:
            raise refused(f"a point of {view.buffer} along {missing[0]}", "a register tile is read as a whole")
        return found

    def hold(self, view: View, box: Box, tile: Tile) -> None:
        """The value of a tile is what a view shows from now on, under a name that the buffer always has."""
        if view.buffer not in self._names:
            self._names[view.buffer] = self.memory.scopes.fresh(str(view.buffer))
        name = self._names[view.buffer]
        self.memory.scopes.put(f"{name} = {tile.text}")
        strides = tuple((dim, view.stride(dim.axis)) for dim in self.dims(view, box))
        own = {dim.axis for dim in tile.dims}
        self._held[view.buffer] = Held(Tile(name, tile.dims, tile.dtype, tile.zero & own), strides, view.offset)


def _at_own_positions(gather: Gather, box: Box, held: Held) -> View:
    """The view that a gather without its guard is. Raises `UnsupportedOperation` for other positions than those of the tile."""
    ranges = dict(box)
    if gather.lookups or not all(index.is_axis() or not index.terms for index in gather.indices):
        raise refused(f"a read of {gather.buffer} at computed positions", "it is a register tile, which has no addresses")
    offset, strides = gather.offset, list[tuple[str, IntegerExpression]]()
    for index, stride in zip(gather.indices, gather.dim_strides, strict=True):
        offset = offset + stride * index.constant
        for axis in index.axes():
            offset, strides = offset + ranges[axis].start * stride, [*strides, (axis, stride)]
    return View(gather.buffer, held.offset if _is_equal(offset, held.offset) else offset, tuple(strides), gather.dtype)


def _is_equal(this: IntegerExpression, that: IntegerExpression) -> bool:
    """Whether two sums of starts of blocks are equal: linear ones that agree at all these places are."""
    variables = sorted(_variables(this) | _variables(that), key=str)
    places = (dict.fromkeys(variables, 0), *({**dict.fromkeys(variables, 0), one: 1} for one in variables))
    return all(evaluated(this, place) == evaluated(that, place) for place in places)


def _variables(value: IntegerExpression) -> set[Variable]:
    if isinstance(value, Variable):
        return {value}
    return {operand for node in nodes(value) for operand in node.operands if isinstance(operand, Variable)}
