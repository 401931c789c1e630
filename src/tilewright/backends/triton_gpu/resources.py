"""Resources of a block: shared memory by the rules of Triton 3.9.0, an estimate of registers, and how many blocks a core holds.

The rules of shared memory were found by compiling (exact for 73 of 74 planned kernels, and for 84 of 99 with random tiles, of a
prototype); other versions lay out otherwise. Registers are an estimate, which leaves out addresses: compiled kernels had up to 93
more, 114 with random tiles, and `REGISTER_MARGIN` of those that a thread has stay free.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.backends.triton_gpu.candidates import Candidates
from tilewright.backends.triton_gpu.figures import Gpu
from tilewright.backends.triton_gpu.operands import Operands
from tilewright.backends.triton_gpu.roles import Place
from tilewright.backends.triton_gpu.skeleton import Skeleton
from tilewright.backends.triton_gpu.work import Count, Tiles
from tilewright.records import record

REGISTER_MARGIN = 55
"""Registers of a thread that the estimate must leave free: the search stops at 200 of 255."""
BASE_REGISTERS = 56
"""Of a thread for pointers, counters and what the compiler keeps; an estimate."""
WARP = 32
ROWS_OF_WARPGROUP = 64
LIVE_VALUES = 3
"""Tiles of elements that a kernel without products has at a time; an estimate."""


@record(eq=False)
class Resources:
    """What a block needs, for each candidate."""

    shared_bytes: np.ndarray
    registers: np.ndarray
    """Of a thread."""
    uses_warpgroups: np.ndarray
    """Whether products are those of groups of four warps."""
    blocks_of_core: np.ndarray
    """Blocks that a core holds at once; 0 where one does not fit."""


def resources_of(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, trips: Tiles, gpu: Gpu) -> Resources:
    """The resources of all candidates."""
    groups = _uses_warpgroups(skeleton, operands, found, gpu)
    shared = _shared(skeleton, operands, found, trips, groups)
    registers = _registers(skeleton, operands, found)
    return Resources(shared, registers, groups, _occupancy(found, shared, registers, gpu))


def _uses_warpgroups(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, gpu: Gpu) -> np.ndarray:
    """Whether all products have whole groups of warps, 64 rows, and a unit for these (PTX ISA manual, wgmma)."""
    if not operands or not all(gpu.unit(one.dtype, of_warpgroups=True) for one in operands):
        return np.zeros(found.warps.shape, bool)
    return np.asarray((found.tiles[skeleton.roles.row] >= ROWS_OF_WARPGROUP) & (found.warps % 4 == 0))


def _buffers(found: Candidates, groups: np.ndarray, trips: Count, *, is_asynchronous: bool) -> np.ndarray:
    """Buffers of a pipeline: as many as stages with groups of warps, else one fewer; one where the loop has one trip, or no load
    is asynchronous."""
    if not is_asynchronous:
        return np.ones_like(found.stages)
    return np.where(trips > 1, np.where(groups, found.stages, np.maximum(found.stages - 1, 1)), 1)


def _shared(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, trips: Tiles, groups: np.ndarray) -> np.ndarray:
    """Bytes of shared memory of a block."""
    if not operands:
        return np.zeros_like(found.warps)
    return _of_two(skeleton, operands, found, trips, groups) if len(operands) > 1 else _of_one(operands[0], found, trips, groups)


def _of_one(one: Operands, found: Candidates, trips: Tiles, groups: np.ndarray) -> np.ndarray:
    """The buffers of both operands; behind the loop the tile turns through half its bytes into rows of 16-byte stores."""
    product, tiles = one.product, found.tiles
    rows, columns, depth = tiles[product.row], tiles[product.column], tiles[product.depth]
    steps = trips[product.depth]
    for tap in product.taps:
        steps = steps * trips[tap]
    buffers = _buffers(found, groups, steps, is_asynchronous=one.left.is_asynchronous or one.right.is_asynchronous)
    of_left = np.minimum(buffers, np.maximum(found.stages - 1, 1)) if one.left.element_bytes > one.element_bytes else buffers
    held = of_left * one.left.element_bytes * rows * depth + buffers * one.right.element_bytes * depth * columns
    return np.asarray(np.maximum(held + _made(one, rows, columns, depth), rows * columns))


def _made(one: Operands, rows: np.ndarray, columns: np.ndarray, depth: np.ndarray) -> Count:
    """What operators of the chain make of operands goes into shared memory once more, as it is multiplied."""
    left = 0 if one.left.is_input else one.element_bytes * rows * depth
    return left + (0 if one.right.is_input else one.element_bytes * columns * depth)


def _of_two(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, trips: Tiles, groups: np.ndarray) -> np.ndarray:
    """C stays in registers where every warp has whole rows: with groups of warps, with one, or with at least as many rows as
    columns and the depth whole. Else it goes through shared memory."""
    first, second = operands
    roles, tiles = skeleton.roles, found.tiles
    rows, fused, columns = tiles[roles.row], tiles[roles.fused], tiles[roles.column]
    depth = tiles[first.product.depth]
    steps = trips[roles.fused] if skeleton.is_whole else trips[first.product.depth]
    for tap in () if skeleton.is_whole else first.product.taps:
        steps = steps * trips[tap]
    loads = (first.right,) if skeleton.is_whole else (first.left, first.right)
    buffers = _buffers(found, groups, steps, is_asynchronous=any(load.is_asynchronous for load in (*loads, first.left)))
    in_registers = groups | (found.warps == 1) | (skeleton.is_whole & (rows >= columns))
    turned = np.where(in_registers, 0, second.element_bytes * rows * fused)
    left, right = first.left.element_bytes * rows * depth, first.right.element_bytes * depth * fused
    behind = second.right.element_bytes * fused * columns
    made = _made(first, rows, fused, depth) + (0 if second.right.is_input else second.element_bytes * fused * columns)
    if skeleton.is_whole:
        vectors = np.maximum(found.stages - 1, 0) * fused * _vector_bytes(skeleton)
        return np.asarray(left + buffers * (right + behind) + turned + vectors + made)
    return np.asarray(np.maximum(np.maximum(buffers * (left + right), behind + turned) + made, rows * columns))


def _vector_bytes(skeleton: Skeleton) -> int:
    """Bytes for a point of the fused axis of what is read along it alone between the products."""
    chain, fused = skeleton.roles.chain, {skeleton.roles.fused}
    reads = [read for op in skeleton.roles.at(Place.BETWEEN) for read in op.reads if read.tensor in chain.inputs]
    return sum(chain.tensor(read.tensor).element_bytes for read in reads if read.axes() == fused)


def _registers(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates) -> np.ndarray:
    """Registers of a thread: sums in float32, converted operands, fragments of instructions, and the rest."""
    threads, tiles, roles = WARP * found.warps, found.tiles, skeleton.roles
    if not operands:
        elements = np.ones_like(found.warps)
        for tile in tiles.values():
            elements = elements * tile
        return np.asarray(np.floor(LIVE_VALUES * elements / threads) + BASE_REGISTERS / 2)
    first = operands[0]
    rows, columns, depth = tiles[roles.row], tiles[roles.column], tiles[first.product.depth]
    if len(operands) == 1:
        sums, words = rows * columns, (rows + columns) * depth * first.element_bytes / 4
    else:
        fused = tiles[roles.fused]
        held = rows * depth if skeleton.is_whole else 0
        sums, words = rows * (fused + columns), rows * fused * operands[1].element_bytes / 4 + held * first.element_bytes / 4
    return np.asarray(np.floor((sums + words) / threads) + BASE_REGISTERS)


def _occupancy(found: Candidates, shared: np.ndarray, registers: np.ndarray, gpu: Gpu) -> np.ndarray:
    """Blocks that fit a core together by shared memory, registers, threads and blocks (CUDA C++ Programming Guide)."""
    threads = WARP * found.warps
    blocks = np.minimum(gpu.threads_of_core // threads, gpu.blocks_of_core)
    blocks = np.minimum(blocks, gpu.registers_of_core // (np.maximum(registers, 1) * threads))
    blocks = np.minimum(blocks, gpu.shared_of_core // np.maximum(shared + gpu.reserved_of_block, 1))
    fits = (shared <= gpu.shared_of_block) & (threads <= gpu.threads_of_block)
    fits = fits & (registers <= gpu.registers_of_thread - REGISTER_MARGIN)
    return np.asarray(np.where(fits, blocks, 0))
