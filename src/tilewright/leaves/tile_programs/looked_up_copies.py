"""Copies of elements whose positions along the lanes are looked up, and the same in all rows: one by one.

Cores that split gathers of vectors up take 1.5 cycles an element and more (Zen 4: 27 cycles for 16); a load and a store of an
element start every cycle.
"""

from __future__ import annotations

from tilewright.block.memory import Gather
from tilewright.graph.expressions.scalar import Load
from tilewright.leaves.tile_programs.gathers import Gathers
from tilewright.leaves.tile_programs.points import Points
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.types import INDEX, element_type, vector

MOST_POSITIONS = 4096
"""That are kept: 32 KiB of the stack."""
TOGETHER = 8
"""Elements that are written down one after the other."""


def copied(points: Points) -> int | None:
    """The read that is copied as it is, to a known number of places; None where something else is computed."""
    body, loops = points.loops.operator.body, points.loops
    size = points.size(points.vector_axis)
    if not isinstance(body, Load) or not isinstance(size, int) or size > MOST_POSITIONS:
        return None
    read = loops.reads[body.read]
    return body.read if isinstance(read, Gather) and read.dtype == loops.write.dtype else None


def copy_rows(points: Points, gathers: Gathers, number: int, around: list[str]) -> None:
    """All rows, by positions that are found before."""
    b, operand, axis = points.builder, points.loops.reads[number], points.vector_axis
    assert isinstance(operand, Gather)
    size = points.size(axis)
    assert isinstance(size, int)
    memory = b.scratch(f"positions{number}", INDEX.dtype, -(-size // points.lanes) * points.lanes)

    def keep() -> None:
        gathers.enter_vector()
        b.store(memory, points.at[axis], gathers.kept(number))

    points.vectors(keep)
    source, target = (points.arguments.buffer(one)[0] for one in (operand, points.loops.write))
    stride = points.stride(points.loops.write.stride(axis))

    def element(lane: IndexLike) -> None:
        position = b.define(IntegerOperation.VALUE, b.load(memory, lane, INDEX))
        found = b.load(source, place + position, vector(element_type(operand.dtype)))
        b.store(target, written + lane * stride, found)

    with points.over(around):
        place, written = gathers.row_place(number, operand), points.place(points.loops.write)
        with b.loop("lane", 0, size + 1 - TOGETHER, TOGETHER) as lane:
            for one in range(TOGETHER):
                element(lane + one)
        for one in range(size - size % TOGETHER, size):
            element(one)
