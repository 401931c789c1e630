"""The price of a GEMM and of two products on a GPU, one candidate at a time, in plain numbers: slow, and written from the text of
`price.py` and `resources.py` alone. Operands are float16, every load is asynchronous, nothing else is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf

from tilewright.backends.triton_gpu.figures import WARPGROUP, Gpu


@dataclass(frozen=True)
class Block:
    """What one block does."""

    blocks: int
    warps: int
    groups: bool
    shared: int
    registers: int
    flops: float
    """Of one block, as are all figures below."""
    moved: float
    fragments: float
    waits: float
    memory: float
    """Of all blocks."""


def gemm(gpu: Gpu, sizes: tuple[int, int, int, int], tiles: tuple[int, int, int], warps: int, stages: int) -> Block:
    """A batch of products of m x k and k x n."""
    b, m, n, k = sizes
    rows, columns, depth = tiles
    steps = ceil(k / depth)
    groups = uses_groups(gpu, rows, warps)
    blocks = b * ceil(m / rows) * ceil(n / columns)
    buffers = 1 if steps == 1 else stages if groups else stages - 1
    shared = max(buffers * 2 * depth * (rows + columns), rows * columns)
    ragged = m % rows != 0 or n % columns != 0 or k % depth != 0
    registers = registers_of(
        rows * columns / 32 / warps, 0, depth * columns / 32 / warps, ragged=ragged, cut=False, groups=groups
    )
    moved = 2 * b * (m * k * ceil(n / columns) + k * n * ceil(m / rows) + m * n)
    if groups:
        fragments = steps * 2 * depth * (rows + columns * max(1, rows // 64))
    else:
        ways = [(a, warps // a) for a in (1, 2, 4, 8) if a <= warps and rows // 16 >= a and columns // 8 >= warps // a]
        fragments = steps * 2 * depth * min(rows * across + columns * along for along, across in ways)
    waits = gpu.load_cycles + gpu.trip_cycles + (steps - 1) * max(gpu.trip_cycles, gpu.load_cycles / max(stages - 1, 1))
    once = 2 * b * (m * k + k * n + m * n)
    flops = 2 * rows * columns * depth * steps
    return Block(blocks, warps, groups, shared, registers, flops, moved / blocks, fragments, waits, once)


def two_products(
    gpu: Gpu, sizes: tuple[int, int, int, int, int], tiles: tuple[int, int, int, int], warps: int, stages: int, *, whole: bool
) -> Block:
    """A batch of (m x k, k x l) and l x n; tiles of m, l, n, k."""
    b, m, n, k, between = sizes
    rows, fused, columns, depth = tiles
    outer, steps = ceil(between / fused), ceil(k / depth)
    groups = uses_groups(gpu, rows, warps)
    blocks = b * ceil(m / rows) * ceil(n / columns)
    trips = outer if whole else steps
    buffers = 1 if trips == 1 else stages if groups else stages - 1
    turned = 0 if groups or warps == 1 or (whole and rows >= columns) else 2 * rows * fused
    left, right, behind = 2 * rows * depth, 2 * depth * fused, 2 * fused * columns
    if whole:
        shared = left + buffers * (right + behind) + turned if outer > 1 else max(left + right, behind + turned)
        waits = gpu.load_cycles + 2 * gpu.trip_cycles
        waits += (outer - 1) * max(2 * gpu.trip_cycles, gpu.load_cycles / (stages - 1))
    else:
        shared = max(buffers * (left + right), behind + turned, rows * columns)
        trip = max(gpu.trip_cycles, gpu.load_cycles / (stages - 1))
        waits = outer * (2 * gpu.load_cycles + 2 * gpu.trip_cycles + (steps - 1) * trip)
    ragged = any(size % tile for size, tile in zip((m, between, n, k), tiles, strict=True))
    made, right_of = rows * fused / 32 / warps, depth * fused / 32 / warps
    last = rows * columns / 32 / warps
    sums = max(last, made) if outer == 1 else last + made
    registers = registers_of(sums, made / 2, right_of, ragged=ragged, cut=not whole and outer > 1, groups=groups)
    grid_columns, grid_rows = ceil(n / columns), ceil(m / rows)
    walks = grid_columns * (1 if whole else outer)
    moved = 2 * b * (m * k * walks + k * between * grid_columns * grid_rows + between * n * grid_rows + m * n)
    reads_of_columns = max(1, rows // 64) if groups else warps
    first = steps * depth * ((0 if whole else rows) + fused * reads_of_columns)
    fragments = 2 * outer * (first + fused * columns * reads_of_columns)
    flops = 2 * outer * rows * fused * (depth * steps + columns)
    once = 2 * b * (m * k + k * between + between * n + m * n)
    return Block(blocks, warps, groups, shared, registers, flops, moved / blocks, fragments, waits, once)


def registers_of(sums: float, made: float, right: float, *, ragged: bool, cut: bool, groups: bool) -> int:
    """The estimate of the registers of a thread, by the elements and words that it holds."""
    if groups:
        return floor(25 + 1.02 * sums + 0.7 * made + 11 * cut + ragged + 0.16 * right)
    return floor(31 + 1.47 * sums + 0.7 * made + 26 * cut + 5 * ragged + 0.08 * right)


def uses_groups(gpu: Gpu, rows: int, warps: int) -> bool:
    """Whether products are those of groups of warps."""
    return any(unit.name == WARPGROUP for unit in gpu.units) and rows >= 64 and warps % 4 == 0


def seconds(gpu: Gpu, block: Block) -> float:
    """The price."""
    held = occupancy(gpu, block)
    if held < 1:
        return inf
    of_core = ceil(block.blocks / gpu.cores)
    clocks = 0.0
    while of_core > 0:
        clocks += clocks_of_round(gpu, block, min(held, of_core))
        of_core -= held
    assert block.memory <= gpu.l2_bytes, "the oracle knows small problems only"
    return max(clocks / gpu.hertz, block.memory / gpu.memory_rate) + gpu.fill_s + gpu.launch_s


def occupancy(gpu: Gpu, block: Block) -> int:
    """Blocks that a core holds."""
    threads = 32 * block.warps
    if block.shared > gpu.shared_of_block or block.registers > gpu.registers_of_thread - 70 or threads > gpu.threads_of_block:
        return 0
    by_shared = gpu.shared_of_core // (block.shared + gpu.reserved_of_block)
    by_registers = gpu.registers_of_core // (block.registers * threads)
    return min(by_shared, by_registers, gpu.threads_of_core // threads, gpu.blocks_of_core)


def clocks_of_round(gpu: Gpu, block: Block, count: int) -> float:
    """Of so many blocks together on one core."""
    names = [unit for unit in gpu.units if unit.operands == "float16" and (unit.name == WARPGROUP) == block.groups]
    products = count * block.flops / (max(unit.flops_per_cycle for unit in names) * gpu.product_share)
    products *= max(1.0, 4 / (count * block.warps))
    return max(products, count * block.moved / gpu.l2_rate, count * block.fragments / gpu.shared_rate, block.waits)
