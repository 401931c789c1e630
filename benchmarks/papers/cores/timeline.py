"""Time of a parallel region on several cores: blocks are dealt as by the runtime's pool (`runtime/native/pool.c`), and cores that
run at once divide the shared bandwidth.

A block takes `Block.alone_s` where nobody else wants the bandwidth. Its demand of a link is its bytes over that time. A core that
is granted less runs slower in proportion; whenever a block ends the bandwidth is divided again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.papers.cores.links import Link, max_min_fair

MOST_GRAINS = 256
"""Of a share, as in the pool: blocks of larger shares are taken by several."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a core does between two visits to the pool."""

    private_s: float
    """Arithmetic, and everything that needs private caches only."""
    moved_bytes: tuple[float, ...]
    """Over every link."""
    visible: float = 0.0
    """Share of the time of moving that arithmetic does not hide."""

    def alone_s(self, links: Sequence[Link]) -> float:
        """The time on a core that has the links to itself."""
        moving = [size / link.core_bytes_per_s for size, link in zip(self.moved_bytes, links, strict=True)]
        return max([self.private_s, *moving]) + self.visible * sum(moving)


class Shares:
    """Blocks that wait: a contiguous share for each core, which takes grains from its front, others from its back."""

    def __init__(self, blocks: int, cores: int) -> None:
        bounds = [blocks * number // cores for number in range(cores + 1)]
        self.left = list(pairwise(bounds))
        self.grains = [1 + (last - first) // MOST_GRAINS for first, last in self.left]

    def take(self, core: int) -> range:
        """The blocks that a core runs next, of its own share or of the fullest one; empty where all are taken.

        >>> shares = Shares(5, 2)
        >>> [shares.take(core) for core in (0, 0, 0, 1, 1, 1)]
        [range(0, 1), range(1, 2), range(4, 5), range(2, 3), range(3, 4), range(0, 0)]
        """
        first, last = self.left[core]
        if first < last:
            stop = min(first + self.grains[core], last)
            self.left[core] = stop, last
            return range(first, stop)
        fullest = max(range(len(self.left)), key=lambda number: self.left[number][1] - self.left[number][0])
        first, last = self.left[fullest]
        if first == last:
            return range(0)
        start = max(last - self.grains[fullest], first)
        self.left[fullest] = first, start
        return range(start, last)


@dataclass(slots=True)
class _Running:
    block: Block
    alone_s: float
    left: float = 1.0
    """Of the block."""


def region_seconds(cores: int, blocks: int, run: Callable[[int, range], Block], links: Sequence[Link]) -> float:
    """The time from the start of a region to the end of its last block. `run` says what blocks take that a core begins now.

    >>> links = (Link("memory", 10.0, 12.0),)
    >>> region_seconds(2, 4, lambda core, blocks: Block(1.0, (3.0,)), links)
    2.0
    >>> region_seconds(2, 4, lambda core, blocks: Block(1.0, (9.0,)), links)
    3.0
    """
    shares, time_s = Shares(blocks, cores), 0.0
    running: dict[int, _Running] = {}
    while True:
        for core in (core for core in range(cores) if core not in running):
            taken = shares.take(core)
            if taken:
                block = run(core, taken)
                running[core] = _Running(block, block.alone_s(links))
        if not running:
            return time_s
        speeds = dict(zip(running, _speeds(list(running.values()), links), strict=True))
        step_s = min(one.left * one.alone_s / speeds[core] for core, one in running.items())
        time_s += step_s
        for core, one in list(running.items()):
            one.left -= step_s * speeds[core] / one.alone_s if one.alone_s else one.left
            if one.left <= 1e-9:
                del running[core]


def _speeds(running: Sequence[_Running], links: Sequence[Link]) -> list[float]:
    """How fast every core runs, of its speed alone."""
    speeds = [1.0] * len(running)
    for number, link in enumerate(links):
        demands = [one.block.moved_bytes[number] / one.alone_s if one.alone_s else 0.0 for one in running]
        granted = max_min_fair(demands, link.total_bytes_per_s)
        speeds = [
            min(speed, got / wanted) if wanted else speed for speed, got, wanted in zip(speeds, granted, demands, strict=True)
        ]
    return speeds
