"""Register tiles: what the buffers of a block hold."""

from __future__ import annotations

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import BufferName, Gather, View
from tilewright.records import record
from tilewright.render.triton.memory import Box, Memory
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.tiles import Dim, Tile


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
            raise refused(f"a read of {view.buffer} at computed positions", "it is a register tile, which has no addresses")
        if view.offset != held.offset:
            raise refused(f"a part of {view.buffer}", "a register tile is read as a whole")
        names = self._renamed(view, box, held)
        dims = tuple(Dim(names[dim.axis], dim.size) for dim in held.tile.dims)
        return Tile(held.tile.text, dims, held.tile.dtype, frozenset(names[axis] for axis in held.tile.zero))

    def _renamed(self, view: View, box: Box, held: Held) -> dict[str, str]:
        """By axis of what was written that of the reader along the same dimension."""
        own = {stride: dim for dim, stride in held.strides}
        found: dict[str, str] = {}
        for dim in self.dims(view, box):
            there = own.get(view.stride(dim.axis))
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
