"""Time on several threads: how evenly blocks divide, and when work is worth distributing.

A plan depends on the machine's cores, never on the number of threads that run it: results stay the same bit for bit however the
blocks are distributed. Threads may be more than the planned cores, or held up by other programs: more blocks serve these.
"""

from __future__ import annotations

from tilewright.arrays import Count, Quantity

ENOUGH_BLOCKS = 16
"""Blocks that a plan provides if the work is large enough to be worth distributing, for many cores."""
BLOCKS_PER_CORE = 4
"""As many as these suffice for few cores: more would be smaller blocks, which compute more of their halos again."""

LATE_SHARE = 0.05
"""Of the time of a block, how much later the last thread ends than the others, unless these have blocks left to take over. On two
idle cores threads end together; beside two busy processes two threads took 0.81 of the time of one in 2 blocks, 0.72 in 4, 8, and
16, 0.60 in 32 (8191x129x67, Zen 3). It is more than what another loop must gain: equal blocks are divided further."""

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


def threads_share(blocks: Count, threads: int) -> Quantity:
    """The time of equal blocks on several threads over that on one: rounds of a block for each thread. In the last round threads
    without a block wait; of less than `enough_blocks` all wait for the last, as they have none left to take over.

    >>> threads_share(1, 8), threads_share(4, 8) * 4, threads_share(32, 8) * 32
    (1.0, 1.0375, 4.0)
    """
    enough = enough_blocks(threads)
    is_few = (blocks > 1) & (blocks < enough)
    return (-(-blocks // threads) + LATE_SHARE * (1 - blocks / enough) * is_few) / blocks


def threads_seconds(seconds: Quantity, blocks: Count, threads: int, region_s: float) -> Quantity:
    """The time of work of `seconds` on one thread in equal blocks on several; one block, or one thread, opens no region.

    >>> threads_seconds(9.0, 18, 4, 0.5)
    3.0
    """
    if threads == 1:
        return seconds
    return seconds * threads_share(blocks, threads) + region_s * (blocks > 1)
