"""A simulator of cache hierarchies: what crosses between levels when a program, or a recorded list of touches, is replayed.

Whole lines, exact LRU, write-allocate, write-back, several levels, non-inclusive: a miss goes to the level behind, a dirty line
that is evicted is written to it (and allocated there without being fetched). There is no prefetching, and every level is indexed
by plain address bits.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.errors import TilewrightError
from tilewright.runtime.compilation import libraries
from tilewright.runtime.store import cache as kernel_cache

SOURCE = Path(__file__).with_suffix(".c")
COUNTERS = 3
MISSES = 1
"""The column of those among the counters."""
LINE_BITS = 40
"""Of a line number in recorded touches; all ones stands for no line."""
Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """One cache: `associativity` lines per set, 0 for one set of all lines."""

    size_bytes: int
    line_bytes: int = 64
    associativity: int = 0

    def __post_init__(self) -> None:
        lines = self.size_bytes // self.line_bytes
        if self.size_bytes % self.line_bytes or lines < 1 or lines % (self.associativity or lines):
            raise TilewrightError(
                f"a cache of {self.size_bytes} bytes cannot have {self.associativity} ways of {self.line_bytes} bytes",
                hint="the size must be a multiple of the line times the associativity",
            )

    @property
    def lines(self) -> int:
        """How many lines it holds."""
        return self.size_bytes // self.line_bytes

    @property
    def ways(self) -> int:
        """Lines per set."""
        return self.associativity or self.lines


@dataclass(frozen=True, slots=True)
class BufferTraffic:
    """What one buffer did at one level, in lines. An access is a touch, or at levels behind the first, a fetch from in front."""

    buffer: str
    accesses: int
    misses: int
    write_backs: int
    line_bytes: int

    @property
    def hits(self) -> int:
        """Accesses that found their line."""
        return self.accesses - self.misses

    @property
    def bytes_in(self) -> int:
        """Fetched from the level behind."""
        return self.misses * self.line_bytes

    @property
    def bytes_back(self) -> int:
        """Written to the level behind."""
        return self.write_backs * self.line_bytes


@dataclass(frozen=True, slots=True)
class LevelTraffic:
    """What happened at one level."""

    level: CacheLevel
    buffers: tuple[BufferTraffic, ...]

    def of(self, buffer: str) -> BufferTraffic:
        """The traffic of one buffer; `StopIteration` if there is none of that name."""
        return next(traffic for traffic in self.buffers if traffic.buffer == buffer)

    @property
    def total(self) -> BufferTraffic:
        """The sum over all buffers."""
        return BufferTraffic(
            "all",
            sum(buffer.accesses for buffer in self.buffers),
            sum(buffer.misses for buffer in self.buffers),
            sum(buffer.write_backs for buffer in self.buffers),
            self.level.line_bytes,
        )

    @property
    def hit_rate(self) -> float:
        """Hits over accesses."""
        total = self.total
        return total.hits / total.accesses if total.accesses else 1.0

    @property
    def bytes_behind(self) -> int:
        """All that crossed between this level and the one behind it, both ways."""
        return self.total.bytes_in + self.total.bytes_back


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The levels of a simulation, nearest first."""

    levels: tuple[LevelTraffic, ...]


@dataclass(frozen=True, slots=True)
class Touches:
    """Recorded accesses: which line (numbers from 0), whether it is written, and the number of the buffer it belongs to."""

    lines: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    writes: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    owners: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    buffers: tuple[str, ...]

    def words(self) -> Words:
        """The touches as the simulator takes them, with the buffer's number above `LINE_BITS` and the write bit."""
        parts = (self.owners << (LINE_BITS + 1), self.lines << 1, self.writes.astype(np.int64))
        return (parts[0] | parts[1] | parts[2]).astype(np.uint64)


def simulate_touches(touches: Touches, levels: Sequence[CacheLevel], *, flush: bool = True) -> SimulationResult:
    """Replay recorded touches on empty caches; with `flush`, what is dirty at the end is written back.

    >>> lines = np.array([0, 1, 0, 2, 0, 1])
    >>> nobody = np.zeros(6, int)
    >>> touches = Touches(lines, lines == 2, nobody, ("x",))
    >>> simulate_touches(touches, [CacheLevel(128, 64)]).levels[0].of("x")
    BufferTraffic(buffer='x', accesses=6, misses=4, write_backs=1, line_bytes=64)
    """
    simulation = Simulation(levels, touches.buffers, LINE_BITS + 1)
    words = touches.words()
    simulation.library.tw_simulate(simulation.address, words.ctypes.data, words.size)
    return simulation.result(flush=flush)


class _Level(ctypes.Structure):
    """`struct level` of cache_simulator.c."""

    _fields_ = (
        *((name, ctypes.c_long) for name in ("sets", "ways")),
        *((name, ctypes.c_void_p) for name in ("entries", "counters", "newer", "older", "buckets", "chain")),
        *((name, ctypes.c_long) for name in ("bucket_mask", "used")),
    )


class _Simulator(ctypes.Structure):
    """`struct simulator` of cache_simulator.c."""

    _fields_ = (("count", ctypes.c_long), ("region_shift", ctypes.c_long), ("levels", ctypes.POINTER(_Level)))


class Simulation:
    """The memory of one simulation: caches, empty at first, and counters.

    `library.tw_simulate(address, words, count)` replays touches; bits from `buffer_shift` upwards of a touch are the number of
    its buffer, counted from `first_buffer`. What misses in the last level goes to those of `behind`, which several simulations
    may share if these have sets.
    """

    def __init__(
        self,
        levels: Sequence[CacheLevel],
        buffers: tuple[str, ...],
        buffer_shift: int,
        *,
        first_buffer: int = 0,
        behind: Simulation | None = None,
    ) -> None:
        shared: tuple[CacheLevel, ...] = behind.levels if behind is not None else ()
        if not levels or len({level.line_bytes for level in (*levels, *shared)}) > 1:
            raise TilewrightError("a simulation needs at least one level, and lines of one size", where=f"{tuple(levels)}")
        if not all(level.associativity for level in shared):
            raise TilewrightError("levels behind others need sets", where=f"{shared}")
        self.levels: tuple[CacheLevel, ...] = tuple(levels)
        self.buffers = buffers
        self.library = library()
        self._first_buffer = first_buffer
        self._kept: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = []
        self.entries: list[Words] = []
        """What every level holds: all ones, or the last touch of a line, with bit 0 for dirty."""
        self.counters: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = [
            np.zeros((first_buffer + len(buffers), COUNTERS), np.int64) for _ in levels
        ]
        self._own = list(map(self._state, levels, self.counters))
        states = [*self._own, *(behind._own if behind is not None else ())]
        self._states = (_Level * len(states))(*states)
        self._simulator = _Simulator(len(states), buffer_shift, self._states)
        self.address = ctypes.addressof(self._simulator)

    def crossed_bytes(self) -> list[int]:
        """What has crossed so far between each level and the one behind it, both ways."""
        return [level.line_bytes * int(counters[:, 1:].sum()) for level, counters in zip(self.levels, self.counters, strict=True)]

    def result(self, *, flush: bool) -> SimulationResult:
        """What was counted so far; with `flush`, dirty lines are written back first."""
        if flush:
            self.library.tw_simulate_flush(self.address)
        return SimulationResult(tuple(map(self._traffic, self.levels, self.counters)))

    def _traffic(self, level: CacheLevel, counters: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> LevelTraffic:
        rows = zip(self.buffers, counters[self._first_buffer :].tolist(), strict=True)
        line = level.line_bytes
        return LevelTraffic(level, tuple(BufferTraffic(name, int(a), int(m), int(w), line) for name, (a, m, w) in rows))

    def _state(self, level: CacheLevel, counters: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> _Level:
        self.entries.append(np.full(level.lines, np.iinfo(np.uint64).max, np.uint64))
        entries = self._keep(self.entries[-1])
        sets = level.lines // level.ways
        if level.associativity:
            return _Level(sets, level.ways, entries, self._keep(counters))
        ends = np.full(level.lines + 1, level.lines, np.int32)
        buckets = 1 << (2 * level.lines - 1).bit_length()
        links = [self._keep(array) for array in (ends, ends.copy(), np.full(buckets, -1, np.int32), np.empty_like(ends))]
        return _Level(sets, level.ways, entries, self._keep(counters), *links, buckets - 1)

    def _keep(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> int:
        """The address of an array that lives as long as the simulation."""
        self._kept.append(array)
        return array.ctypes.data


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The compiled simulator. Raises `ToolchainError` or `CacheError`."""
    loaded = compiled(SOURCE, ("tw_simulate", "tw_simulate_flush"))
    loaded.tw_simulate.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
    loaded.tw_simulate_flush.argtypes = (ctypes.c_void_p,)
    loaded.tw_simulate.restype = loaded.tw_simulate_flush.restype = None
    return loaded


def compiled(source: Path, exported: tuple[str, ...]) -> ctypes.CDLL:
    """The library of a C file, from the cache. Raises `ToolchainError` or `CacheError`."""
    artifact = Artifact(exported[0], source.read_text(), (), platform.machine(), frozenset(), Signature((), (), ()))
    return libraries.opened(artifact, kernel_cache.default(), exported, ctypes.CDLL)[1]
