"""The price of a kernel: the whole of it is here. Nothing of it was measured; a target file says which figures are estimates.

    seconds = max(rounds of blocks, bytes of memory / bandwidth of memory) + fill + launch

**Rounds.** Blocks are dealt to cores; those that a core holds together (`resources.py`) make a round. A round of n blocks takes
the largest of

- products: n * flops / (rate of the unit * share of the peak), times 4 / warps where the round has fewer than 4 warps, as a core
  has four units, each fed by warps of its own (white papers of the A100 and the H100);
- bytes into the core: n * bytes / rate from L2; exact bytes, by `work.py`;
- bytes into registers: n * bytes of fragments / rate of shared memory (128 bytes a clock: CUDA C++ Programming Guide);
- functions (exp and the like) / rate of their unit, and other operations of maps / rate of ordinary arithmetic;
- waiting, below.

**Waiting.** A trip of the innermost loop takes at least `trip_cycles` (estimate). A pipeline of d stages starts a load d - 1
trips before it is used, so that it hides at most d - 1 trips of it: a trip takes at least `load_cycles` / (d - 1). Loads that are
not asynchronous are hidden by nothing: the trip takes `trip_cycles` + `load_cycles`. The first trip of an innermost loop waits
for `load_cycles`; of two products with the depth cut the fused axis starts one at every block, and waits once more for the right
operand of the second product, which no pipeline loads ahead. Other blocks of the round work meanwhile: n does not multiply
waiting.

**Memory.** Each tensor is read once where all tensors of the kernel fit in L2 together. Else blocks that run at the same time
read a tensor together: it is read bytes into cores / blocks at a time, and not less than once (estimate).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.backends.triton_gpu.candidates import Candidates
from tilewright.backends.triton_gpu.figures import Gpu
from tilewright.backends.triton_gpu.operands import Operands
from tilewright.backends.triton_gpu.resources import ROWS_OF_WARPGROUP, Resources
from tilewright.backends.triton_gpu.work import Count, Tiles, Work
from tilewright.plan.types import PriceTerm, TermKind
from tilewright.records import record

UNITS_OF_CORE = 4
"""Of products, each with a scheduler of warps."""


@record(eq=False)
class Loads:
    """What one round of n blocks needs is n times these, in clocks of a core; `waits` is not multiplied."""

    products: np.ndarray
    warps: np.ndarray
    into_core: np.ndarray
    into_registers: np.ndarray
    functions: np.ndarray
    waits: np.ndarray

    def clocks(self, blocks: np.ndarray) -> np.ndarray:
        """Of a round of so many blocks."""
        fed = np.maximum(1.0, UNITS_OF_CORE / np.maximum(blocks * self.warps, 1))
        work = np.maximum(np.maximum(self.products * fed, self.into_core), np.maximum(self.into_registers, self.functions))
        return np.asarray(np.maximum(blocks * work, self.waits))


@record(eq=False)
class Prices:
    """The parts of the price of each candidate, in seconds; infinite where it does not fit."""

    seconds: np.ndarray
    rounds: np.ndarray
    products: np.ndarray
    into_core: np.ndarray
    into_registers: np.ndarray
    functions: np.ndarray
    waits: np.ndarray
    memory: np.ndarray
    launch_s: float
    fill_s: float

    def terms(self, place: int, operator: str) -> tuple[PriceTerm, ...]:
        """The terms of one candidate: of those of the operator the largest counts."""
        parts = (
            (TermKind.ROUNDS, self.rounds, ""),
            (TermKind.ARITHMETIC, self.products, ""),
            (TermKind.FUNCTIONS, self.functions, ""),
            (TermKind.TRAFFIC, self.into_core, "shared"),
            (TermKind.TRAFFIC, self.into_registers, "registers"),
            (TermKind.TRAFFIC, self.memory, "L2"),
            (TermKind.WAITS, self.waits, ""),
        )
        of_kernel = (PriceTerm(kind, float(seconds[place]), operator, level) for kind, seconds, level in parts if seconds[place])
        return (*of_kernel, PriceTerm(TermKind.FILL, self.fill_s), PriceTerm(TermKind.LAUNCH, self.launch_s))


def priced(work: Work, operands: Sequence[Operands], found: Candidates, trips: Tiles, resources: Resources, gpu: Gpu) -> Prices:
    """The price of every candidate."""
    blocks = work.blocks(trips) * np.ones_like(found.warps)
    loads = _loads(work, operands, found, trips, resources, blocks, gpu)
    of_core, held = np.ceil(blocks / gpu.cores), np.maximum(resources.blocks_of_core, 1)
    full, rest = of_core // held, of_core % held
    clocks = full * loads.clocks(held) + np.where(rest > 0, loads.clocks(rest), 0)
    rounds_s = clocks / gpu.hertz
    memory_s = _memory_bytes(work, trips, gpu, held) / gpu.memory_rate
    fits = (resources.blocks_of_core > 0) & np.isfinite(loads.products)
    seconds = np.where(fits, np.maximum(rounds_s, memory_s) + gpu.fill_s + gpu.launch_s, np.inf)
    each = of_core / gpu.hertz
    waits = (full + (rest > 0)) * loads.waits / gpu.hertz
    return Prices(
        seconds=seconds,
        rounds=rounds_s,
        products=each * loads.products,
        into_core=each * loads.into_core,
        into_registers=each * loads.into_registers,
        functions=each * loads.functions,
        waits=waits,
        memory=memory_s * np.ones_like(seconds),
        launch_s=gpu.launch_s,
        fill_s=gpu.fill_s,
    )


def _loads(
    work: Work, operands: Sequence[Operands], found: Candidates, trips: Tiles, resources: Resources, blocks: np.ndarray, gpu: Gpu
) -> Loads:
    """The clocks of a block, by what it keeps busy."""
    groups = resources.uses_warpgroups
    flops = [work.flops(one.product, found.tiles, trips) / blocks for one in operands]
    clocks = (count / _rate(one, groups, gpu) for count, one in zip(flops, operands, strict=True))
    functions, others = work.evaluated(found.tiles, trips)
    arithmetic = 2 * others / blocks / gpu.vector_rate("float32") if gpu.vector_rate("float32") else 0 * blocks
    moved = sum(work.moved(trips).values()) / blocks
    return Loads(
        products=sum(clocks, start=np.zeros_like(blocks)),
        warps=found.warps,
        into_core=moved / gpu.l2_rate * np.ones_like(blocks),
        into_registers=_fragment_bytes(work, operands, found, trips, groups) / blocks / gpu.shared_rate,
        functions=np.maximum(functions / blocks / gpu.functions_rate, arithmetic) * np.ones_like(blocks),
        waits=_waits(work, operands, found, trips, gpu) * np.ones_like(blocks),
    )


def _rate(one: Operands, groups: np.ndarray, gpu: Gpu) -> np.ndarray:
    """Flops a clock of a core for a product; without a unit that of ordinary arithmetic, 0 where that has none."""
    alone, together = (gpu.unit(one.dtype, of_warpgroups=of_warpgroups) for of_warpgroups in (False, True))
    vector = gpu.vector_rate(one.dtype)
    single = alone.flops_per_cycle if alone is not None else vector
    group = together.flops_per_cycle if together is not None else single
    rates = np.where(groups, group, single) * gpu.product_share
    return np.where(rates > 0, rates, np.finfo(float).tiny)


def _fragment_bytes(work: Work, operands: Sequence[Operands], found: Candidates, trips: Tiles, groups: np.ndarray) -> np.ndarray:
    """Bytes from shared memory into registers, or into the units of groups of warps, of all blocks.

    A warp loads its rows of A and its columns of B (ldmatrix); a group of warps reads B once for 64 rows, and A once (wgmma).
    What a product before has left in registers is not loaded.
    """
    total = np.zeros_like(found.warps)
    for number, one in enumerate(operands):
        product = one.product
        rows, columns, depth = (found.tiles[axis] for axis in (product.row, product.column, product.depth))
        is_held = number > 0 or (len(operands) > 1 and work.skeleton.is_whole)
        along_rows = found.warps if len(operands) > 1 else _warps_along_rows(found, rows, columns)
        along_columns = found.warps // along_rows
        by_warps = (0 if is_held else rows * along_columns) + columns * along_rows
        by_groups = (0 if is_held else rows) + columns * np.maximum(1, rows // ROWS_OF_WARPGROUP)
        visits = work.visits(product.operator.name, trips)
        total = total + visits * one.element_bytes * depth * np.where(groups, by_groups, by_warps)
    return total


def _warps_along_rows(found: Candidates, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Of the arrangements of warps over a tile that which loads the least."""
    best, along = np.full_like(rows, np.inf), np.minimum(found.warps, np.maximum(rows // 16, 1))
    for across in (1, 2, 4, 8, 16, 32):
        beside = found.warps // across
        fits = (across <= found.warps) & (rows // 16 >= across) & (columns // 8 >= beside)
        loaded = np.where(fits, rows * beside + columns * across, np.inf)
        best, along = np.minimum(best, loaded), np.where(loaded < best, across, along)
    return np.asarray(along)


def _waits(work: Work, operands: Sequence[Operands], found: Candidates, trips: Tiles, gpu: Gpu) -> Count:
    """Clocks that a block waits, as the text above says."""
    load, trip = gpu.load_cycles, gpu.trip_cycles
    if not operands:
        loops = work.loops[work.skeleton.roles.summed] if work.skeleton.roles.summed else ()
        steps = prod(trips[axis] for axis in loops if axis not in work.skeleton.roles.grid)
        return steps * (load + trip)
    first, is_two = operands[0], len(operands) > 1
    loads = [operand for one in operands for operand in (one.left, one.right) if operand.is_input]
    ahead = np.maximum(found.stages - 1, 1)
    hidden = all(operand.is_asynchronous for operand in loads)
    next_trip = np.maximum(trip, load / ahead) if hidden else trip + load
    steps = prod(trips[axis] for axis in _inner_loops(work, first))
    if not is_two:
        return load + trip + (steps - 1) * next_trip
    outer = work.fused_trips(trips) * prod(trips[axis] for axis in operands[1].product.taps)
    if work.skeleton.is_whole:
        return load + 2 * trip + (outer - 1) * np.maximum(2 * trip, next_trip)
    return outer * (load + trip + (steps - 1) * next_trip + load + trip)


def _inner_loops(work: Work, first: Operands) -> tuple[str, ...]:
    """The axes of the loops around the first product alone."""
    return () if work.skeleton.is_whole else (*first.product.taps, first.product.depth)


def _memory_bytes(work: Work, trips: Tiles, gpu: Gpu, held: np.ndarray) -> Count:
    """Bytes between memory and L2."""
    chain = work.skeleton.roles.chain
    tensors = [chain.tensor(name) for name in (*chain.inputs, chain.output)]
    once = {tensor.name: tensor.element_bytes * _elements(tensor.shape) for tensor in tensors}
    if sum(once.values()) <= gpu.l2_bytes:
        return sum(once.values())
    together = np.maximum(np.minimum(work.blocks(trips), held * gpu.cores), 1)
    moved = work.moved(trips)
    return sum(np.maximum(once[name], moved[name] / together) for name in once)


def _elements(shape: Sequence[object]) -> int:
    return prod(extent for extent in shape if isinstance(extent, int))
