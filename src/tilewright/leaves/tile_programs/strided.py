"""Elements at a stride along the lanes, in tile programs: loaded side by side and picked, or one by one."""

from __future__ import annotations

from tilewright.block.execution import EVERY_OTHER
from tilewright.leaves.tile_programs.lanes import Lanes
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.program import Buffer, Value
from tilewright.tile.types import Type, vector

BYTE, WORD = 8, 32
"""Bits of lanes."""
POSITIONS = "int32"


def strided(b: Builder, buffer: Buffer, place: IndexLike, stride: IndexLike, of: Type, lanes: Lanes) -> Value:
    """The elements of some lanes, the others 0; nothing else is read."""
    mask = lanes.mask(b, of)
    if stride == EVERY_OTHER and of.lanes > 1 and not lanes.others and _are_picked(of, lanes):
        return _every_other(b, buffer, place, of, lanes)
    if mask is None or stride == 1:
        return b.load(buffer, place, of, mask, stride)
    positions = b.iota(of.of("int64"))
    if stride == 0:
        return b.gather(buffer, place, positions - positions, mask)
    if isinstance(stride, int) and abs(stride) * of.lanes < 1 << 31:
        return b.gather(buffer, place, b.iota(of.of(POSITIONS)) * stride, mask)
    return b.gather(buffer, place, positions * b.splat(b.index_value(stride), of.lanes), mask)


def _are_picked(of: Type, lanes: Lanes) -> bool:
    """Whether lanes of the type are picked from whole loads: bytes of all lanes."""
    return of.bits >= WORD or (of.bits == BYTE and lanes.are_all)


def _every_other(b: Builder, buffer: Buffer, place: IndexLike, of: Type, lanes: Lanes) -> Value:
    """From two loads, of which the second begins one element early if no mask keeps it from what lies behind the last one."""
    count = of.lanes
    if not lanes.are_all:
        low, high = (b.load(buffer, place + start, of, lanes.between(start).mask(b, of)) for start in (0, count))
        return b.shuffle((low, high), [2 * lane for lane in range(count)])
    low, high = (b.load(buffer, place + start, of) for start in (0, count - 1))
    if of.bits == BYTE:
        return _bytes(b, low, high)
    return b.shuffle((low, high), [2 * lane + (2 * lane >= count) for lane in range(count)])


def _bytes(b: Builder, low: Value, high: Value) -> Value:
    """The lower bytes of some words and the upper ones of others."""
    words = vector("int16" if low.type.is_signed else "uint16", low.type.lanes // 2)
    halves = b.bitcast(low, words) << BYTE >> BYTE, b.bitcast(high, words) >> BYTE
    return b.cast(b.shuffle(halves, range(low.type.lanes)), low.type.dtype)
