"""Caches of several cores that run one program: private levels of each core, and the levels that all share.

Every block's touches (`tests.oracles.trace_replay`) pass the caches of the core that runs it when it begins. Between two regions
lines that a core has changed are written to the shared level, and other cores lose them.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.papers.cores.links import private_levels
from benchmarks.papers.cores.work import count_units
from tests.oracles.cache_simulator import MISSES, CacheLevel, Simulation
from tests.oracles.memory_runs import Runs
from tests.oracles.trace_replay import SINK, Placement, Replay
from tilewright.block.statements import Statement
from tilewright.machine import Machine
from tilewright.render.c.program import Program

Lines: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
EMPTY = np.uint64(np.iinfo(np.uint64).max)
"""An entry without a line."""
SCRATCH_BYTES = 1 << 28
"""From the scratch of a core to that of the next: more than any needs."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What some blocks of a region did."""

    units: Counter[str]
    """Points by operator, as `work.count_units` counts."""
    crossed_bytes: tuple[int, ...]
    """Behind every cache, private ones first, both ways."""


class CountedRuns(Runs):
    """A walk that tells what it touches, and counts units."""

    units: Counter[str]

    def statement(self, node: Statement) -> None:
        count_units(self, node, self.units)
        super().statement(node)


class Core:
    """A core that runs blocks of one region after the other."""

    def __init__(self, caches: CoreCaches, private: Sequence[CacheLevel], number: int) -> None:
        placement = Placement(scratch_gap_bytes=number * SCRATCH_BYTES)
        self.caches = caches
        self.replay = replay = Replay(caches.program, private[0].line_bytes, {}, placement, every_step=False)
        self.simulation = Simulation(private, replay.buffers, replay.buffer_shift, first_buffer=1, behind=caches.shared)
        self.sink = ctypes.cast(self.simulation.library.tw_simulate, SINK)
        self.walk: CountedRuns | None = None
        """Over the region whose blocks it runs; None before the first of them."""
        self.before: tuple[int, ...] = ()

    def run(self, region: int, blocks: range) -> Replayed:
        """Run some blocks of a region."""
        before, units = self._crossed(), Counter[str]()
        self.replay.stepwise(self.sink, self.simulation.address, lambda: self._blocks(region, blocks, units))
        return Replayed(units, tuple(now - then for now, then in zip(self._crossed(), before, strict=True)))

    def _blocks(self, region: int, blocks: range, units: Counter[str]) -> None:
        nest, is_first = self.caches.program.regions[region], self.walk is None
        walk = self.walk = self.walk or self.replay.runs(region, CountedRuns)
        walk.units = units
        if is_first:
            walk.body(nest.setup)
        trips = walk.trips(nest)
        for number in blocks:
            block = tuple(int(index) for index in np.unravel_index(number, trips)) if trips else ()
            walk.block(nest, trips, block, self.before)
            self.before = block

    def _crossed(self) -> list[int]:
        return [*self.simulation.crossed_bytes(), *self.caches.shared.crossed_bytes()]


class CoreCaches:
    """The caches of a machine's cores, empty at first."""

    def __init__(self, program: Program, machine: Machine, cores: int) -> None:
        levels = [CacheLevel(level.size_bytes, level.line_bytes, level.associativity) for level in machine.levels[:-1]]
        self.program, private = program, private_levels(machine)
        replay = Replay(program, levels[0].line_bytes, {}, Placement(), every_step=False)
        self.variables = replay.variables
        self.shared = Simulation(levels[private:], replay.buffers, replay.buffer_shift, first_buffer=1)
        self.cores = [Core(self, levels[:private], number) for number in range(cores)]

    def enter_region(self) -> None:
        """All cores begin another region: they see what others wrote before."""
        if len(self.cores) > 1:
            self._share_changes()
        for core in self.cores:
            core.walk, core.before = None, ()

    def _share_changes(self) -> None:
        changed = [_dirty_lines(core.simulation.entries) for core in self.cores]
        self._write(np.concatenate(changed))
        for number, core in enumerate(self.cores):
            _drop(core.simulation.entries, np.sort(np.concatenate(changed[:number] + changed[number + 1 :])))
            _clean(core.simulation.entries)

    def _write(self, changed: Lines) -> None:
        """Whole lines arrive in the shared levels: nothing is fetched for them."""
        fetched = [counters[:, MISSES].copy() for counters in self.shared.counters]
        self.shared.library.tw_simulate(self.shared.address, changed.ctypes.data, changed.size)
        for counters, misses in zip(self.shared.counters, fetched, strict=True):
            counters[:, MISSES] = misses


def _dirty_lines(entries: Sequence[Lines]) -> Lines:
    """The lines that a core has changed, as touches that write."""
    return np.unique(np.concatenate([lines[_is_dirty(lines)] for lines in entries]))


def _is_dirty(lines: Lines) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    dirty: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (lines != EMPTY) & (lines & np.uint64(1)).astype(bool)
    return dirty


def _clean(entries: Sequence[Lines]) -> None:
    for lines in entries:
        lines[_is_dirty(lines)] &= ~np.uint64(1)


def _drop(entries: Sequence[Lines], changed: Lines) -> None:
    """Empty the entries of lines that other cores have changed, sorted."""
    for lines in entries if changed.size else ():
        written = lines | np.uint64(1)
        found = changed[np.minimum(np.searchsorted(changed, written), changed.size - 1)]
        lines[(found == written) & (lines != EMPTY)] = EMPTY
