"""The obvious cache hierarchy: one ordered dictionary per set, oldest line first."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence

from tests.oracles.cache_simulator import CacheLevel, SimulationResult, Touches

Counts = Counter[tuple[int, str, str]]


class SlowCaches:
    """Levels nearest first; `counts` has (depth, buffer, "accesses" | "misses" | "write_backs")."""

    def __init__(self, levels: Sequence[CacheLevel]) -> None:
        self.levels = levels
        self.sets: list[dict[int, OrderedDict[int, tuple[str, bool]]]] = [{} for _ in levels]
        self.counts: Counts = Counter()

    def touch(self, depth: int, line: int, owner: str, *, writes: bool) -> None:
        if depth == len(self.levels):
            return
        self.counts[depth, owner, "accesses"] += 1
        lines = self._set(depth, line)
        if line not in lines:
            self.counts[depth, owner, "misses"] += 1
            self.touch(depth + 1, line, owner, writes=False)
        self._use(depth, line, owner, dirty=writes)

    def write_back(self, depth: int, line: int, owner: str) -> None:
        if depth < len(self.levels):
            self._use(depth, line, owner, dirty=True)

    def flush(self) -> None:
        for depth, sets in enumerate(self.sets):
            for lines in sets.values():
                for line, (owner, dirty) in list(lines.items()):
                    lines[line] = (owner, False)
                    self._leave(depth, line, owner, dirty)

    def _use(self, depth: int, line: int, owner: str, *, dirty: bool) -> None:
        lines = self._set(depth, line)
        _, was_dirty = lines.pop(line, (owner, False))
        lines[line] = (owner, dirty or was_dirty)
        if len(lines) > self.levels[depth].ways:
            oldest, (its_owner, its_dirt) = lines.popitem(last=False)
            self._leave(depth, oldest, its_owner, its_dirt)

    def _leave(self, depth: int, line: int, owner: str, dirty: bool) -> None:
        if dirty:
            self.counts[depth, owner, "write_backs"] += 1
            self.write_back(depth + 1, line, owner)

    def _set(self, depth: int, line: int) -> OrderedDict[int, tuple[str, bool]]:
        level = self.levels[depth]
        return self.sets[depth].setdefault(line % (level.lines // level.ways), OrderedDict())


def slow_counts(touches: Touches, levels: Sequence[CacheLevel], *, flush: bool) -> Counts:
    """What `simulate_touches` must count, zeros left out."""
    caches = SlowCaches(levels)
    for line, writes, owner in zip(touches.lines, touches.writes, touches.owners, strict=True):
        caches.touch(0, int(line), touches.buffers[int(owner)], writes=bool(writes))
    if flush:
        caches.flush()
    return caches.counts


def counted(result: SimulationResult) -> Counts:
    """A result in the form of `slow_counts`."""
    return Counter(
        {
            (depth, one.buffer, name): getattr(one, name)
            for depth, level in enumerate(result.levels)
            for one in level.buffers
            for name in ("accesses", "misses", "write_backs")
            if getattr(one, name)
        }
    )
