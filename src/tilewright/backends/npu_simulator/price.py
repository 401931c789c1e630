"""Predicted time of a plan: bytes over rates and instructions, pipe by pipe, overlapped where a buffer exists twice.

A block has parts that follow each other: the first product, what the vector unit makes of whole rows, the second product (`Moved`
and `Computed` say which). A part is a loop, of which a pipe does one step while the next pipe does the step before:

    seconds of a part  = busiest pipe + (all pipes - busiest pipe) / steps        two buffers of what passes
                       = load, feed and cube as above; cube, vector and store one after the other        one buffer
    cycles of a core   = parts of its first block + further blocks * (busiest pipe of a block; all parts with one buffer)
    seconds            = the larger of cycles / clock and compulsory bytes / memory bandwidth, plus the launch

Bytes, instructions and buffers are exact. Estimates: flags, launch, clock, cores, bytes a cycle from memory (the target file says
so), a pass of the vector unit for every function, and the overlap itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from tilewright.arrays import Count, Quantity, either, maximum
from tilewright.backends.npu_simulator.counts import Work, once_bytes
from tilewright.backends.npu_simulator.figures import Figures, Pipe
from tilewright.backends.npu_simulator.tiles import Order, blocks_of
from tilewright.records import record

Cycles = Mapping[Pipe, Quantity]
PHASES = 3
IN_ROW = (Pipe.CUBE, Pipe.VECTOR, Pipe.STORE)
"""What one buffer of sums keeps from working beside each other."""


@record
class Predicted:
    """The prediction for a plan, or for many."""

    cycles: Quantity
    """Of the core that has the most blocks, all of them whole."""
    compulsory_s: float
    """Every input and the output once, at the bandwidth of memory."""
    launch_s: float
    seconds: Quantity
    busy: Cycles
    """By pipe, of one whole block."""
    blocks_of_core: Count


def predicted(work: Work, figures: Figures) -> Predicted:
    """The prediction for the tiles of some work."""
    block, tiles = work.block(), work.tiles
    parts = [pipe_cycles(block, figures, phase) for phase in range(PHASES)]
    busy = {pipe: sum((part[pipe] for part in parts), start=0.0) for pipe in Pipe}
    one = reduce(_plus, (_part(block, phase, part) for phase, part in enumerate(parts)))
    rounds = blocks_of(work.dealt, figures.cores)
    further = either(tiles.outer > 1, reduce(maximum, busy.values()), one)
    cycles = one + (rounds - 1) * further
    compulsory_s = once_bytes(work.chain) / figures.memory_bytes_per_s
    seconds = maximum(cycles / figures.frequency_hz, compulsory_s) + figures.launch_s
    return Predicted(cycles, compulsory_s, figures.launch_s, seconds, busy, rounds)


def pipe_cycles(work: Work, figures: Figures, phase: int) -> dict[Pipe, Quantity]:
    """Cycles of every pipe in one part of a block; exact, as far as rates and flags are."""
    found: dict[Pipe, Quantity] = dict.fromkeys(Pipe, 0.0)
    for moved in work.moved():
        if moved.phase == phase:
            way = figures.way(moved.source, moved.target)
            found[way.pipe] = found[way.pipe] + moved.size_bytes / way.bytes_per_cycle
    for done in work.computed():
        if done.phase == phase:
            found[Pipe.CUBE] = found[Pipe.CUBE] + done.cubes + done.products * figures.flag_cycles
            vector = done.vector_bytes / figures.vector_bytes_per_cycle + done.vectors * figures.flag_cycles
            found[Pipe.VECTOR] = found[Pipe.VECTOR] + vector
    return found


def _part(block: Work, phase: int, cycles: Cycles) -> Quantity:
    """Cycles from the begin of a part to its end."""
    columns, second = _steps(block)
    order = block.tiles.order
    depth = blocks_of(block.extents.depth, block.tiles.depth)
    slices = depth * columns
    if phase == 0 and order in (Order.ROWS, Order.STREAM, Order.RESIDENT):
        return _passing(cycles, slices, columns, block.tiles.middle)
    if phase == 2 and order is Order.RESIDENT:
        slices = second * blocks_of(block.extents.columns, block.tiles.second_depth)
        return _passing(cycles, slices, second, block.tiles.middle)
    if phase == 0 and order is Order.TILE:
        return _pipelined(list(cycles.values()), depth)
    return reduce(_plus, cycles.values())


def _steps(block: Work) -> tuple[Count, Count]:
    """Blocks of columns of the first and of the second product in one block of rows."""
    return block.column_blocks, block.second_blocks if block.tiles.order is Order.RESIDENT else 1


def _passing(cycles: Cycles, slices: Count, columns: Count, copies: Count) -> Quantity:
    """Slices of the depth pass inside of blocks of columns."""
    ahead = [cycles[Pipe.LOAD], cycles[Pipe.FEED]]
    front = _pipelined([*ahead, cycles[Pipe.CUBE]], slices)
    twice = _pipelined([front, cycles[Pipe.VECTOR], cycles[Pipe.STORE]], columns)
    once = _pipelined([*ahead, reduce(_plus, (cycles[pipe] for pipe in IN_ROW))], slices)
    return either(copies > 1, twice, once)


def _pipelined(stages: Sequence[Quantity], steps: Count) -> Quantity:
    """Stages that work on neighbouring steps at the same time."""
    longest, together = reduce(maximum, stages), reduce(_plus, stages)
    return longest + (together - longest) / steps


def _plus(this: Quantity, that: Quantity) -> Quantity:
    return this + that
