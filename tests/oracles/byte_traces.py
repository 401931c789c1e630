"""Byte traces of plans beside their movement: `python -m tests.oracles.byte_traces [MACHINE ...]`, over all graphs of replay.

Equal to the byte but for what the model leaves aside by intent, named by `Kind`; anything else is a failure.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from math import prod

from tests.oracles.left_out import left_movements
from tests.replay import stored
from tests.replay.planning import SUBJECTS, graphs_of
from tilewright.block.integers import Variable, VariableKind
from tilewright.block.memory import Gather
from tilewright.block.program import Region
from tilewright.block.statements import For, Let, Rounded, Transfer, VectorLoops
from tilewright.block.trace import Blocks, bytes_moved
from tilewright.graph.types import Access, planned_extent
from tilewright.lower.arguments import hints
from tilewright.plan.schedule import Loop
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c.program import lower_program


class Kind(StrEnum):
    """How what a tensor moves into a level compares with the model."""

    EQUAL = "equal"
    QUOTIENTS = "quotients bounded"
    """The model takes the range of quotients and remainders for their number."""
    MASKS = "masks within 1%"
    GUARDED_BLOCKS = "guarded blocks counted"
    """The model counts the blocks of an axis at which a guard reads nothing, though no index has that axis."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Compared:
    """Bytes of a tensor into a level of a chain."""

    plan: Plan
    tensor: str
    level: str
    traced: int
    predicted: int
    kind: Kind


def compared(model_plan: ModelPlan) -> Iterator[Compared]:
    """All tensors and levels of all chains that have movement and need no data."""
    program = lower_program(model_plan)
    sizes = _sizes(model_plan)
    for _, pairs in groupby(zip(program.regions, program.plans, strict=True), key=lambda pair: id(pair[1])):
        regions, plans = zip(*pairs, strict=True)
        if plans[0].levels and not any(map(_needs_data, regions)):
            yield from _of_chain(plans[0], regions, sizes)


def _of_chain(plan: Plan, regions: tuple[Region, ...], sizes: dict[Variable, int]) -> Iterator[Compared]:
    levels = levels_of(plan)
    own = next(
        region for region in regions if not all(isinstance(node, For | Transfer) for node in region.nodes())
    )  # packing is ahead
    traced = bytes_moved(own, regions, sizes, levels, plan.schedule.split)
    predicted = left_movements(plan)
    for tensor, level in sorted(traced.keys() | predicted.keys()):
        found = traced.get((tensor, level), 0), predicted.get((tensor, level), 0)
        yield Compared(plan, tensor, level, *found, _kind(plan, tensor, *found))


def levels_of(plan: Plan) -> dict[str, Blocks]:
    """The fusion level and those behind it, with the loops whose blocks they hold; by default those of the fusion level."""
    split = plan.schedule.body[:1] if plan.schedule.split else ()
    parts = frozenset((loop.axis, loop.tile) for loop in split if isinstance(loop, Loop))
    held = {level.level: frozenset(level.tiles) | parts for level in plan.levels}
    around = {
        operator.name: {(loop.axis, loop.tile) for loop in plan.schedule.path(operator.name)} for operator in plan.chain.operators
    }
    caches = [level.name for level in plan.machine.levels[:-1]]
    caches = caches[min(1, len(caches) - 1) :]
    loops = {level: held.get(level, held[caches[0]]) for level in caches}
    return {level: frozenset((name, *cut) for name in around for cut in around[name] & loops[level]) for level in caches}


def _kind(plan: Plan, tensor: str, traced: int, predicted: int) -> Kind:
    accesses = [a for operator in plan.chain.operators for a in (*operator.reads, operator.write) if a.tensor == tensor]
    if traced == predicted:
        return Kind.EQUAL
    if plan.key_blocks is not None and abs(traced - predicted) <= 0.01 * predicted:
        return Kind.MASKS
    if traced <= predicted and any(a.guard is not None and not a.guard.axes() <= a.axes() for a in accesses):
        return Kind.GUARDED_BLOCKS
    if traced <= predicted and not all(map(_has_linear_indices, accesses)):
        return Kind.QUOTIENTS
    return Kind.OTHER


def _has_linear_indices(access: Access) -> bool:
    return all(index.is_affine() for index in access.indices)


def _needs_data(region: Region) -> bool:
    return any(
        (isinstance(node, Let) and isinstance(node.value, Rounded))
        or (isinstance(node, VectorLoops) and any(isinstance(read, Gather) and read.lookups for read in node.reads))
        for node in region.nodes()
    )


def _sizes(model_plan: ModelPlan) -> dict[Variable, int]:
    """Planned extents, and the strides of row-major arguments."""
    sizes = hints(model_plan.graph)
    for tensor in (*model_plan.graph.tensors, *(argument.declared for argument in model_plan.merged)):
        shape = [max(planned_extent(extent), 1) for extent in tensor.shape]
        sizes |= {Variable(VariableKind.STRIDE, tensor.name, d): prod(shape[d + 1 :]) for d in range(len(shape))}
    return sizes


def main(machines: list[str]) -> None:
    """Counts by kind of every subject; what is neither equal nor intended is printed."""
    for machine in machines:
        for subject in SUBJECTS:
            start, kinds = time.monotonic(), Counter[str]()
            for graph, planned in graphs_of(subject).items():
                for one in (one for model_plan in planned(machine) for one in compared(model_plan)):
                    kinds[one.kind] += 1
                    if one.kind is Kind.OTHER:
                        print(f"  {subject}/{graph}: {one.tensor} into {one.level}: {one.traced}, predicted {one.predicted}")
            counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
            print(f"{machine} {subject}: {counts}; {time.monotonic() - start:.0f} s with planning", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [stored.MACHINE])
