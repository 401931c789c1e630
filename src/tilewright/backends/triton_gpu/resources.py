"""Resources of a block: shared memory by the rules of Triton 3.9.0, an estimate of registers, and how many blocks a core holds.

The rules of shared memory were found by compiling (exact for 73 of 74 planned kernels, and for 84 of 99 with random tiles, of a
prototype); other versions lay out otherwise. Registers are an estimate, fitted to 239 kernels that were compiled for sm_80 and
sm_90, two thirds of them with random tiles (`benchmarks/studies/gpu_compilation.py` compares): half of them are within 10, and
`REGISTER_MARGIN` of those that a thread has stay free.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.backends.triton_gpu.candidates import Candidates
from tilewright.backends.triton_gpu.figures import Gpu
from tilewright.backends.triton_gpu.operands import Operand, Operands
from tilewright.backends.triton_gpu.roles import Place, Roles
from tilewright.backends.triton_gpu.skeleton import Skeleton
from tilewright.backends.triton_gpu.work import FUNCTION_UNITS, Count, Tiles
from tilewright.records import record

REGISTER_MARGIN = 70
"""Registers of a thread that the estimate must leave free, as it is short by so many at worst: the search stops at 185 of
255. Of the kernels above, those with images or with long loops that spill have estimates above."""
WARP = 32
ROWS_OF_WARPGROUP = 64
LIVE_VALUES, BASE_OF_ELEMENTS = 3, 28
"""Tiles of elements that a kernel without products has at a time, and its other registers; an estimate."""


@record
class RegisterFit:
    """Registers of a thread by what a kernel with products holds, as least absolute deviations give them."""

    base: float
    sums: float
    """For an element of the tiles of sums that a thread has at a time: of two products with one block of the fused axis the
    larger, else both."""
    made: float
    """For a word of what the first product makes for the second."""
    cut: float
    """Where the depth of the first of two products is cut, inside of blocks of the fused axis."""
    ragged: float
    """Where a tile reaches beyond an extent."""
    right: float
    """For an element of the right operand at a time."""
    padded: float
    """For an element of an operand with padding at a time."""
    pixels: float
    """For a row or column of the tile of such an operand, whose address is computed."""
    loads: float
    """For an element of another operand whose loads are not asynchronous, beside one with padding."""
    prepared: float
    """For an element of an operand that maps make; an estimate, between 0 and what the kernels with long depths had."""
    functions: float
    """For an element of a tile on which maps compute functions that take the unit of functions more than once."""


OF_WARPS = RegisterFit(31, 1.47, 0.7, 26, 5, 0.08, 0.1, 0.25, 0.6, 0.25, 0.5)
OF_GROUPS = RegisterFit(25, 1.02, 0.7, 11, 1, 0.16, 0.0, 0.4, 0.9, 0.25, 0.75)
"""The same of products of groups of four warps."""


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
    registers = _registers(skeleton, operands, found, trips, groups)
    return Resources(shared, registers, groups, _occupancy(found, shared, registers, gpu))


def _uses_warpgroups(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, gpu: Gpu) -> np.ndarray:
    """Whether all products have whole groups of warps, 64 rows, and a unit for these (PTX ISA manual, wgmma)."""
    if not operands or not all(gpu.unit(one.dtype, of_warpgroups=True) for one in operands):
        return np.zeros(found.warps.shape, bool)
    return np.asarray((found.tiles[skeleton.roles.row] >= ROWS_OF_WARPGROUP) & (found.warps % 4 == 0))


def _buffers(found: Candidates, groups: np.ndarray, trips: Count, operand: Operand) -> np.ndarray:
    """Buffers of an operand in a pipeline: as many as stages with groups of warps, else one fewer; one where the loop has one
    trip, or the operand's loads are not asynchronous. What is made of a load has the buffers of that load."""
    if operand.is_input and not operand.is_asynchronous:
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
    steps = trips[product.depth] * prod(trips[tap] for tap in product.taps)
    of_left, of_right = (_buffers(found, groups, steps, operand) for operand in (one.left, one.right))
    if one.left.element_bytes > one.element_bytes:  # registers convert it
        of_left = np.minimum(of_left, np.maximum(found.stages - 1, 1))
    held = of_left * _bytes(one, one.left) * rows * depth + of_right * _bytes(one, one.right) * depth * columns
    return np.asarray(np.maximum(held, rows * columns))


def _bytes(one: Operands, operand: Operand) -> int:
    """Of an element in shared memory: as it is loaded, or as it is multiplied where the kernel makes it."""
    return operand.element_bytes if operand.is_input else one.element_bytes


def _of_two(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, trips: Tiles, groups: np.ndarray) -> np.ndarray:
    """C stays in registers where every warp has whole rows: with groups of warps, with one, or with at least as many rows as
    columns and the depth whole. Else it goes through shared memory."""
    first, second = operands
    roles, tiles = skeleton.roles, found.tiles
    rows, fused, columns = tiles[roles.row], tiles[roles.fused], tiles[roles.column]
    depth, blocks = tiles[first.product.depth], trips[roles.fused]
    steps = blocks if skeleton.is_whole else trips[first.product.depth] * prod(trips[tap] for tap in first.product.taps)
    in_registers = groups | (found.warps == 1) | (skeleton.is_whole & (rows >= columns))
    turned = np.where(in_registers, 0, second.element_bytes * rows * fused)
    left, right = _bytes(first, first.left) * rows * depth, _bytes(first, first.right) * depth * fused
    behind = _bytes(second, second.right) * fused * columns
    of_left, of_right, of_behind = (_buffers(found, groups, steps, one) for one in (first.left, first.right, second.right))
    if skeleton.is_whole:
        in_turn = np.maximum(left + right, behind + turned)  # one block of the fused axis: nothing is loaded ahead
        return np.asarray(np.where(blocks > 1, left + of_right * right + of_behind * behind + turned, in_turn))
    return np.asarray(np.maximum(np.maximum(of_left * left + of_right * right, behind + turned), rows * columns))


def _registers(
    skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, trips: Tiles, groups: np.ndarray
) -> np.ndarray:
    """Registers of a thread."""
    threads, tiles = WARP * found.warps, found.tiles
    if not operands:
        elements = prod(tiles.values(), start=np.ones_like(found.warps))
        return np.asarray(np.floor(LIVE_VALUES * elements / threads) + BASE_OF_ELEMENTS)
    held = _held(skeleton, operands, found, trips)
    fits = [sum(getattr(fit, name) * count for name, count in held.items()) for fit in (OF_WARPS, OF_GROUPS)]
    return np.asarray(np.floor(np.where(groups, fits[1], fits[0])))


def _held(skeleton: Skeleton, operands: Sequence[Operands], found: Candidates, trips: Tiles) -> dict[str, Count]:
    """What a thread holds, by the names of `RegisterFit`."""
    threads, tiles, roles = WARP * found.warps, found.tiles, skeleton.roles
    first, is_two = operands[0], len(operands) > 1
    rows, columns, depth = (tiles[axis] for axis in (first.product.row, first.product.column, first.product.depth))
    last = tiles[roles.row] * tiles[roles.column] / threads
    made = rows * columns / threads if is_two else 0 * last
    taps = operands[-1].product.taps if is_two else ()
    is_once = trips[roles.fused] * prod(trips[tap] for tap in taps) == 1 if is_two else False
    sides = ((first.left, rows * depth / threads, rows), (first.right, columns * depth / threads, columns))
    padded = [(count, side) for operand, count, side in sides if operand.read.guard is not None]
    loaded = [(operand, count) for operand, count, _ in sides if operand.is_input and operand.read.guard is None]
    others = [count for operand, count in loaded if not operand.is_asynchronous]
    return {
        "base": 1,
        "sums": np.where(is_once, np.maximum(last, made), last + made),
        "made": made * operands[-1].element_bytes / 4,
        "cut": (is_two and not skeleton.is_whole) * np.logical_not(is_once),
        "ragged": _is_ragged(skeleton, found, trips),
        "right": columns * depth / threads,
        "padded": sum(count for count, _ in padded),
        "pixels": sum(side for _, side in padded),
        "loads": sum(others) if padded else 0,
        "prepared": sum(count for operand, count, _ in sides if not operand.is_input),
        "functions": made * _has_functions(roles, Place.BETWEEN) + last * _has_functions(roles, Place.BEHIND),
    }


def _is_ragged(skeleton: Skeleton, found: Candidates, trips: Tiles) -> np.ndarray:
    """Whether some tile reaches beyond an extent."""
    extents = skeleton.roles.chain.extents
    ragged = np.zeros(found.warps.shape, bool)
    for axis, tile in found.tiles.items():
        ragged |= trips[axis] * tile != extents[axis]
    return ragged


def _has_functions(roles: Roles, place: Place) -> bool:
    """Whether a map of a place has functions that take the unit of functions more than once."""
    names = {name for operator in roles.at(place) for name in operator.functions()}
    return any(FUNCTION_UNITS.get(name, 0) > 1 for name in names)


def _occupancy(found: Candidates, shared: np.ndarray, registers: np.ndarray, gpu: Gpu) -> np.ndarray:
    """Blocks that fit a core together by shared memory, registers, threads and blocks (CUDA C++ Programming Guide)."""
    threads = WARP * found.warps
    blocks = np.minimum(gpu.threads_of_core // threads, gpu.blocks_of_core)
    blocks = np.minimum(blocks, gpu.registers_of_core // (np.maximum(registers, 1) * threads))
    blocks = np.minimum(blocks, gpu.shared_of_core // np.maximum(shared + gpu.reserved_of_block, 1))
    fits = (shared <= gpu.shared_of_block) & (threads <= gpu.threads_of_block)
    fits = fits & (registers <= gpu.registers_of_thread - REGISTER_MARGIN)
    return np.asarray(np.where(fits, blocks, 0))
