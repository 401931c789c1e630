"""Loads at a stride: whole registers and shuffles, or gathers."""

from __future__ import annotations

from tilewright.tile.operations import Operation
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.program import Detail, Place, Value
from tilewright.tile.types import Type, vector

LONGEST = 4
"""A stride of so many elements still takes fewer shuffles than lanes."""


def load(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    """Nothing is read but between the first lane and the last one."""
    assert isinstance(detail, Place)
    stride = detail.stride
    if not isinstance(stride, int) or stride == 1:
        return None
    if operands:
        return _gathered(b, t, operands[0], detail)
    if stride == 0:
        return b.splat(b.instruction(Operation.LOAD, t.scalar, (), detail), t.lanes)
    if abs(stride) > LONGEST:
        return None
    return _shuffled(b, t, detail, stride)


def _shuffled(b: DialectBuilder, t: Type, place: Place, stride: int) -> Value:
    """As many registers as the stride, the last of which ends with the last lane."""
    lanes, size = t.lanes, abs(stride)
    extent = (lanes - 1) * size + 1
    first = place.index if stride > 0 else place.index - (extent - 1)
    starts = [min(number * lanes, extent - lanes) for number in range(-(-extent // lanes))]
    parts = [b.instruction(Operation.LOAD, t, (), Place(place.buffer, first + start)) for start in starts]
    wanted = [lane * size for lane in range(lanes)]
    if stride < 0:
        wanted.reverse()
    found = b.shuffle(parts[:2], [_place(one, starts[:2], lanes) for one in wanted])
    for number, start in enumerate(starts[2:], 2):
        is_here = [one // lanes == number for one in wanted]
        merged = [lanes + one - start if here else lane for lane, (one, here) in enumerate(zip(wanted, is_here, strict=True))]
        found = b.shuffle((found, parts[number]), merged)
    return found


def _place(element: int, starts: list[int], lanes: int) -> int:
    """Its lane in the first two registers; of an element behind them, that of any other."""
    number = element // lanes
    return element - starts[number] + number * lanes if number < len(starts) else 0


def _gathered(b: DialectBuilder, t: Type, mask: Value, place: Place) -> Value | None:
    """Under a mask, where positions can be gathered from."""
    if b.dialect.entry("gather", "int32", t.dtype) is None:
        return None
    assert isinstance(place.stride, int)
    positions = b.iota(vector("int32", t.lanes)) * place.stride
    return b.instruction(Operation.GATHER, t, (positions, mask), Place(place.buffer, place.index))
