"""Which loops are distributed over threads, and how evenly their blocks divide.

Nothing here depends on a number of threads: tiles are chosen so that blocks are enough for any usual one, and results stay the
same bit for bit however the blocks are distributed.
"""

from __future__ import annotations

from math import prod

from tilewright.graph.types import AxisKind, Chain
from tilewright.plan.images import Follows, schedule_follows, shared_loops
from tilewright.plan.ranges import planned_sizes, trip_counts
from tilewright.plan.schedule import Loop, Node, Pack, Schedule, Storage

ENOUGH_BLOCKS = 16
"""Blocks that a plan provides if the work is large enough to be worth distributing."""
WORTH_DISTRIBUTING_S = 2e-5
"""Work that takes longer on one thread is cut into `ENOUGH_BLOCKS` blocks."""


def parallel_axes(chain: Chain, schedule: Schedule) -> tuple[str, ...]:
    """Axes of the outermost loops whose blocks are independent: parallel in every operator, with only Packs beside them.

    A loop along which an intermediate is rolled is not one of them: its blocks need what the ones before have left.
    """
    return tuple(loop.axis for loop in parallel_loops(chain, schedule))


def parallel_loops(chain: Chain, schedule: Schedule) -> tuple[Loop, ...]:
    """The loops of `parallel_axes`, outermost first."""
    loops: list[Loop] = []
    follow = schedule_follows(chain, schedule)
    rolls = any(schedule.storage_of(tensor) is Storage.ROLL for tensor in chain.intermediates)
    serial = shared_loops(schedule)[-1:] if rolls else ()
    body: tuple[Node, ...] = schedule.body
    while True:
        others = [node for node in body if not isinstance(node, Pack)]
        if len(others) != 1 or others[0] is not body[-1] or not isinstance(others[0], Loop):
            return tuple(loops)
        loop = others[0]
        if not is_parallel(chain, loop.axis, follow) or any(loop.axis == other.axis for other in loops) or loop in serial:
            return tuple(loops)
        loops.append(loop)
        body = loop.body


def is_parallel(chain: Chain, axis: str, follow: Follows | None = None) -> bool:
    """Whether every operator of a chain has the axis, or follows its consumers along it, and none reduces it."""
    moving = {operator for (operator, _), one in (follow or {}).items() if axis in one.slopes}
    return all(
        any(own.name == axis and own.kind is AxisKind.PARALLEL for own in operator.axes) or operator.name in moving
        for operator in chain.operators
    )


def block_count(chain: Chain, schedule: Schedule) -> int:
    """The number of independent blocks, at planned sizes."""
    return prod(trip_counts(parallel_loops(chain, schedule), planned_sizes(chain)))


def imbalance(blocks: int, threads: int) -> float:
    """The time of `threads` threads over an even share: ceil(blocks / threads) * threads / blocks.

    >>> imbalance(9, 4)
    1.3333333333333333
    """
    return -(-blocks // threads) * threads / max(blocks, 1)
