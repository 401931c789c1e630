"""Time on several threads: how evenly blocks divide, and when work is worth distributing.

A plan depends on the machine's cores, never on the number of threads that run it: results stay the same bit for bit however the
blocks are distributed. Threads may be more than the planned cores, or held up by other programs: `enough_blocks` serves these.
"""

from __future__ import annotations

from tilewright.arrays import Count, Quantity

ENOUGH_BLOCKS = 16
"""Blocks that a plan provides if the work is large enough to be worth distributing, for many cores."""
BLOCKS_PER_CORE = 4
"""As many as these suffice for few cores: more would be smaller blocks, which compute more of their halos again."""

LEAST_PARALLEL_S = 2e-5
"""Work that takes longer on one thread is cut into `enough_blocks` blocks."""


def enough_blocks(cores: int) -> int:
    """The blocks that a plan for so many cores provides: a single core waits for no other.

    >>> enough_blocks(1), enough_blocks(2), enough_blocks(64)
    (1, 8, 16)
    """
    return min(ENOUGH_BLOCKS, BLOCKS_PER_CORE * cores) if cores > 1 else 1


def imbalance(blocks: Count, threads: int) -> Quantity:
    """The time of `threads` threads over an even share: ceil(blocks / threads) * threads / blocks; blocks may be an array.

    >>> imbalance(9, 4)
    1.3333333333333333
    """
    return -(-blocks // threads) * threads / blocks


def threads_seconds(seconds: Quantity, blocks: Count, threads: int, region_s: float) -> Quantity:
    """The time of work of `seconds` on one thread in equal blocks on several; one block, or one thread, opens no region.

    >>> threads_seconds(9.0, 9, 4, 0.5)
    3.5
    """
    if threads == 1:
        return seconds
    return seconds * imbalance(blocks, threads) / threads + region_s * (blocks > 1)
