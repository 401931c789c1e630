"""A fully associative cache with ideal replacement (Belady, 1966): of all lines, the one that is used again last leaves."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush

import numpy as np

from tests.oracles.cache_simulator import Touches

NEVER = np.iinfo(np.int64).max


def next_uses(lines: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """For every touch the position of the next touch of its line."""
    order = np.argsort(lines, kind="stable")
    same = lines[order][1:] == lines[order][:-1]
    following = np.full(lines.size, NEVER)
    following[order[:-1][same]] = order[1:][same]
    return following


def ideal_traffic(touches: Touches, capacity_lines: int) -> Counter[tuple[str, str]]:
    """Lines by (buffer, "misses" | "write_backs"), with write-allocation, dirty lines written back at the end."""
    counts: Counter[tuple[str, str]] = Counter()
    held: dict[int, tuple[int, bool, int]] = {}
    queue: list[tuple[int, int]] = []
    entries = (column.tolist() for column in (touches.lines, touches.writes, touches.owners, next_uses(touches.lines)))
    for line, writes, owner, use in zip(*entries, strict=True):
        _, was_dirty, _ = held.get(line, (0, False, 0))
        if line not in held:
            counts[touches.buffers[owner], "misses"] += 1
        held[line] = (use, was_dirty or writes, owner)
        heappush(queue, (-use, line))
        if len(held) > capacity_lines:
            _evict(held, queue, counts, touches.buffers)
    for _, dirty, owner in held.values():
        counts[touches.buffers[owner], "write_backs"] += dirty
    return counts


def _evict(
    held: dict[int, tuple[int, bool, int]],
    queue: list[tuple[int, int]],
    counts: Counter[tuple[str, str]],
    buffers: tuple[str, ...],
) -> None:
    while True:
        use, line = heappop(queue)
        if line in held and held[line][0] == -use:
            _, dirty, owner = held.pop(line)
            counts[buffers[owner], "write_backs"] += dirty
            return
