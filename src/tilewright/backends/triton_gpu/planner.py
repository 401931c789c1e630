"""Plans of chains for a GPU: one kernel each, of all candidates the one of the least price.

    chain -> roles -> loops -> candidates -> resources -> price -> plan

All candidates are priced, as arrays: no bound leaves any out. What lost is in the plan with its figure: other tiles, and the
candidate that moves the fewest bytes into cores, which is what the paper minimises. What operators cost apart is known to who
divides a graph into chains (`plan/whole_model`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from tilewright.backends.triton_gpu.candidates import Candidates, enumerated
from tilewright.backends.triton_gpu.figures import Gpu, gpu_of
from tilewright.backends.triton_gpu.operands import Operands, operands_of
from tilewright.backends.triton_gpu.price import Prices, priced
from tilewright.backends.triton_gpu.resources import WARP, Resources, resources_of
from tilewright.backends.triton_gpu.roles import Product, Roles, refused, roles_of
from tilewright.backends.triton_gpu.skeleton import Skeleton, skeletons
from tilewright.backends.triton_gpu.work import Work, work_of
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.exactness import exact_element_type
from tilewright.graph.types import Chain, Operator
from tilewright.machine.machine import Machine
from tilewright.plan.reasons import Defeat, Loops, LossReason, OtherLoops, Tiles
from tilewright.plan.regions.aligned_producers import aligned
from tilewright.plan.schedule import Storage
from tilewright.plan.types import Floor, LevelPlan, Movement, OperatorPlan, Plan, Price, Rejected
from tilewright.records import record

OTHERS = 3
"""Other tiles that a plan reports."""


@record(eq=False)
class Kernel:
    """The candidates of a chain with one kind of loops, and their prices."""

    skeleton: Skeleton
    operands: tuple[Operands, ...]
    work: Work
    candidates: Candidates
    resources: Resources
    prices: Prices

    def tiles(self, place: int) -> dict[str, int]:
        """Of one candidate."""
        return {axis: int(tile[place]) for axis, tile in self.candidates.tiles.items()}

    def moved_bytes(self) -> np.ndarray:
        """Into and out of cores, by candidate."""
        trips = self.work.trips(self.candidates.tiles)
        return np.asarray(sum(self.work.moved(trips).values()) * np.ones_like(self.candidates.warps))


@record(eq=False)
class Chosen:
    """One candidate of one kind of loops."""

    kernel: Kernel
    place: int

    @property
    def seconds(self) -> float:
        """Its price."""
        return float(self.kernel.prices.seconds[self.place])

    @property
    def tiles(self) -> dict[str, int]:
        """By axis."""
        return self.kernel.tiles(self.place)

    @property
    def warps(self) -> int:
        """Of a block."""
        return int(self.kernel.candidates.warps[self.place])

    @property
    def stages(self) -> int:
        """Of the pipeline of loads."""
        return int(self.kernel.candidates.stages[self.place])


@record
class GpuPlanner:
    """Plans chains as one kernel each; `is_tf32` has products of float32 multiply with 10 bits behind the point."""

    is_tf32: bool = False

    def plan(self, chain: Chain, machine: Machine) -> Plan:
        """The plan of a chain. Raises `Unplannable` with a typed reason where it is no kernel, or where none fits."""
        return _plan(chain, machine, self.is_tf32)


def kernels_of(chain: Chain, machine: Machine, *, is_tf32: bool = False) -> tuple[Kernel, ...]:
    """All candidates of a chain with their prices. Raises as `GpuPlanner.plan`."""
    gpu = gpu_of(machine)
    roles = roles_of(aligned(chain))
    operands = operands_of(roles, gpu, is_tf32=is_tf32)
    return tuple(_kernel(skeleton, operands, gpu) for skeleton in skeletons(roles))


def _kernel(skeleton: Skeleton, operands: tuple[Operands, ...], gpu: Gpu) -> Kernel:
    work = work_of(skeleton)
    found = enumerated(skeleton, work.extents, operands)
    trips = work.trips(found.tiles)
    resources = resources_of(skeleton, operands, found, trips, gpu)
    return Kernel(skeleton, operands, work, found, resources, priced(work, operands, found, trips, resources, gpu))


def chosen_of(kernels: Sequence[Kernel]) -> list[Chosen]:
    """All candidates that fit, the winner first: by price, then bytes, shared memory, warps and stages."""
    found: list[tuple[tuple[float, ...], int, int]] = []
    for number, kernel in enumerate(kernels):
        seconds = kernel.prices.seconds
        found_here = kernel.candidates
        shared = kernel.resources.shared_bytes
        keys = np.stack([np.round(seconds, 11), kernel.moved_bytes(), shared, found_here.warps, found_here.stages])
        order = np.lexsort(keys[::-1])
        best = [int(place) for place in order[: 8 * OTHERS] if np.isfinite(seconds[place])]
        found += [(tuple(keys[:, place]), number, place) for place in best]
    return [Chosen(kernels[number], place) for _, number, place in sorted(found, key=lambda one: one[:2])]


def _plan(chain: Chain, machine: Machine, is_tf32: bool) -> Plan:
    kernels = kernels_of(chain, machine, is_tf32=is_tf32)
    ranked = chosen_of(kernels)
    if not ranked:
        why = f"no tiles of it fit a core of {machine.name}"
        raise refused(chain, why, hint="cut long rows into parts, or leave target= out to compute on this machine")
    best = ranked[0]
    last = chain.operators[-1].name
    price = Price(best.kernel.prices.terms(best.place, last))
    roles = best.kernel.skeleton.roles
    return Plan(
        chain=chain,
        machine=machine,
        schedule=best.kernel.skeleton.with_tiles(best.tiles),
        operators=tuple(_operator_plan(chain, roles, operator, best) for operator in roles.chain.operators),
        levels=_levels(best, gpu_of(machine)),
        parallel_axes=roles.grid,
        movements=_movements(best, machine),
        scratch_bytes=0,
        price=price,
        unfused_price=price if len(chain.operators) == 1 else None,
        floor=_floor(best, gpu_of(machine)),
        rejected=(*_other_tiles(ranked), *_least_movement(kernels, best)),
    )


def _operator_plan(chain: Chain, roles: Roles, operator: Operator, best: Chosen) -> OperatorPlan:
    numbers = (("warps", float(best.warps)), ("stages", float(best.stages)))
    product = next((one for one in best.kernel.operands if one.product.operator is operator), None)
    element_type = exact_element_type(operator, {tensor.name: tensor for tensor in chain.tensors})
    if product is not None:
        sums = "int32" if product.dtype in ("int8", "uint8") else ""
        useful = _useful(best, product.product, chain.operator(operator.name))
        tf32 = (("tf32", 1.0),) if product.dtype == "tf32" else ()
        return OperatorPlan(operator.name, LeafBinding("gpu_dot", _axes_of(product.product), (), (*numbers, *tf32), sums), useful)
    kind = "gpu_map" if operator.is_map() else "gpu_rows"
    axes = tuple((role, axis) for role, axis in (("row", roles.row), ("column", roles.column)) if axis in operator.axis_names)
    return OperatorPlan(operator.name, LeafBinding(kind, axes, (), numbers, element_type))


def _axes_of(product: Product) -> tuple[tuple[str, str], ...]:
    return (("row", product.row), ("column", product.column), ("depth", product.depth))


def _useful(best: Chosen, product: Product, operator: Operator) -> float:
    """The flops of all points of the operator, each once, over those of whole tiles: what is made again is not useful, and where
    masks leave out blocks it may be above 1."""
    extents = (axis.extent for axis in operator.axes)
    needed = 2 * prod(float(extent) for extent in extents if isinstance(extent, int))
    work = best.kernel.work
    return float(needed / work.flops(product, best.tiles, work.trips(best.tiles)))


def _levels(best: Chosen, gpu: Gpu) -> tuple[LevelPlan, ...]:
    """Shared memory of a block and registers of a core's blocks, used and there."""
    skeleton, place = best.kernel.skeleton, best.place
    roles = skeleton.roles
    inside = [axis for path in best.kernel.work.loops.values() for axis in path if axis not in roles.grid]
    order = (*roles.grid, *dict.fromkeys(inside))
    tiles = tuple((axis, best.tiles.get(axis, 1)) for axis in dict.fromkeys((*order, *best.tiles)))
    shared = int(best.kernel.resources.shared_bytes[place])
    registers = 4 * WARP * best.warps * int(best.kernel.resources.registers[place])
    return (
        LevelPlan("shared", order, tiles, shared, gpu.shared_of_block),
        LevelPlan("registers", order, tiles, registers, 4 * gpu.registers_of_core),
    )


def _movements(best: Chosen, machine: Machine) -> tuple[Movement, ...]:
    work = best.kernel.work
    moved = work.moved(work.trips(best.tiles))
    return tuple(Movement(tensor, machine.levels[0].name, int(size)) for tensor, size in moved.items())


def _floor(best: Chosen, gpu: Gpu) -> Floor:
    """Flops of products over the peak of all cores, and each tensor once over the bandwidth of memory."""
    work, chain = best.kernel.work, best.kernel.skeleton.roles.chain
    flops, compute_s = 0, 0.0
    for one in best.kernel.operands:
        needed = 2 * int(np.prod([work.extents[axis.name] for axis in one.product.operator.axes], dtype=object))
        rates = [unit.flops_per_cycle for unit in gpu.units if unit.operands == one.dtype] or [gpu.vector_rate(one.dtype)]
        flops, compute_s = flops + needed, compute_s + needed / (max(rates) * gpu.cores * gpu.hertz)
    tensors = [chain.tensor(name) for name in (*chain.inputs, chain.output)]
    sizes = [[extent for extent in tensor.shape if isinstance(extent, int)] for tensor in tensors]
    moved = sum(tensor.element_bytes * int(np.prod(size, dtype=object)) for tensor, size in zip(tensors, sizes, strict=True))
    return Floor(flops, compute_s, moved, moved / gpu.memory_rate)


def _other_tiles(ranked: Sequence[Chosen]) -> Iterator[Rejected]:
    """The next candidates that have other tiles."""
    best = ranked[0]
    seen = [best.tiles]
    for one in ranked[1:]:
        if one.tiles not in seen and len(seen) <= OTHERS:
            seen.append(one.tiles)
            yield Rejected(_loops_of(one), one.seconds, best.seconds, "s", LossReason(Defeat.SLOWER))


def _least_movement(kernels: Sequence[Kernel], best: Chosen) -> Iterator[Rejected]:
    """The candidate that moves the fewest bytes into cores, if that is another one."""
    found: list[tuple[float, float, int, Kernel]] = []
    for kernel in kernels:
        moved = np.where(np.isfinite(kernel.prices.seconds), kernel.moved_bytes(), np.inf)
        if moved.size:
            place = int(np.lexsort((kernel.prices.seconds, moved))[0])
            found.append((float(moved[place]), float(kernel.prices.seconds[place]), place, kernel))
    moved_bytes, _, place, kernel = min(found, key=lambda one: one[:2])
    least = Chosen(kernel, place)
    if least.tiles != best.tiles and np.isfinite(moved_bytes):
        yield Rejected(_loops_of(least), least.seconds, best.seconds, "s", LossReason(Defeat.SLOWER))


def _loops_of(one: Chosen) -> OtherLoops:
    """The loops of a candidate, with its tiles."""
    roles = one.kernel.skeleton.roles
    tiles: Tiles = tuple((axis, one.tiles.get(axis, 1)) for axis in dict.fromkeys((*roles.grid, *one.tiles)))
    return OtherLoops(Storage.KEEP, Loops(tiles))
