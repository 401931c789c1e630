"""When instructions run: every pipe does one at a time, and buffers say what waits for what.

An instruction starts when its pipe is free, its operands are there, and the place of its result is. A buffer that exists c times
holds c versions: a new one begins where something is written after what was there has been read, and waits until the version c
before it is read no more. Instructions of blocks in flight pass each other: one takes the first gap of its pipe that is long
enough, as a compiler that orders instructions over blocks would let it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tilewright.backends.npu_simulator.figures import Pipe
from tilewright.block.memory import BufferName

Place: TypeAlias = BufferName | int
"""A buffer, or the number of those that take turns in its place."""
MOST_GAPS = 64
"""Gaps of a pipe that are remembered, the latest ones."""


@dataclass(slots=True)
class _Version:
    """What a buffer holds: from when on it is there, until when it is read."""

    ready: float
    read_until: float = 0.0
    is_read: bool = False


@dataclass(slots=True)
class _Lane:
    """A pipe: gaps between its instructions, and its end."""

    gaps: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MOST_GAPS))
    end: float = 0.0
    busy: float = 0.0

    def place(self, ready: float, cycles: float) -> float:
        """The end of an instruction that may start at `ready`."""
        self.busy += cycles
        for number, (start, stop) in enumerate(self.gaps):
            begin = max(start, ready)
            if begin + cycles <= stop:
                rest = [gap for gap in ((start, begin), (begin + cycles, stop)) if gap[1] > gap[0]]
                kept = [*list(self.gaps)[:number], *rest, *list(self.gaps)[number + 1 :]]
                self.gaps = deque(kept, maxlen=MOST_GAPS)
                return begin + cycles
        begin = max(self.end, ready)
        if begin > self.end:
            self.gaps.append((self.end, begin))
        self.end = begin + cycles
        return self.end


class Timeline:
    """The instructions of one core."""

    def __init__(self, copies: Mapping[Place, int]) -> None:
        """`copies` says how often each buffer exists."""
        self._copies = copies
        self._lanes = {pipe: _Lane() for pipe in Pipe}
        self._versions: dict[Place, deque[_Version]] = {}

    @property
    def cycles(self) -> float:
        """The end of the last instruction."""
        return max(lane.end for lane in self._lanes.values())

    @property
    def busy(self) -> dict[Pipe, float]:
        """Cycles that every pipe works."""
        return {pipe: lane.busy for pipe, lane in self._lanes.items()}

    def run(self, pipe: Pipe, cycles: float, reads: Iterable[Place], write: Place, *, adds: bool = False) -> None:
        """One instruction; with `adds` it goes on with what it writes. Buffers that have no copies are memory, always ready."""
        sources = [self._versions[name][-1] for name in reads if name in self._versions]
        is_kept = adds or write in set(reads)
        ready = max((version.ready for version in sources), default=0.0)
        target = self._target(write, is_new=not is_kept)
        if target is not None:
            ready = max(ready, target.ready)
        end = self._lanes[pipe].place(ready, cycles)
        for version in sources:
            version.read_until, version.is_read = max(version.read_until, end), True
        if target is not None:
            target.ready = end
            target.is_read = target.is_read and not is_kept

    def _target(self, name: Place, *, is_new: bool) -> _Version | None:
        """The version that is written: a new one where the last one was read, in the place of one that is read no more."""
        copies = self._copies.get(name)
        if copies is None:
            return None
        versions = self._versions.setdefault(name, deque(maxlen=copies))
        if not versions or (is_new and versions[-1].is_read):
            free = versions[0].read_until if len(versions) == copies else 0.0
            versions.append(_Version(free))
        return versions[-1]
