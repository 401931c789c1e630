"""Run of a benchmark: from cases and peers to the report, in this process or in fresh ones."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Generic

from tilewright.errors import TilewrightError
from tilewright.runtime import calibration, measurement
from tilewright.runtime.compilation import toolchain
from tilewright_bench.cases.case import Case
from tilewright_bench.measurement.contender import CaseT, Peer
from tilewright_bench.measurement.harness import CaseResult, measure
from tilewright_bench.measurement.provenance import provenance
from tilewright_bench.measurement.rounds import MeasuredRates
from tilewright_bench.progress import Progress
from tilewright_bench.tables.combination import combined
from tilewright_bench.tables.report import Report

PACKINGS = {"none": (False,), "constants": (True,), "both": (False, True)}
Listener = Callable[[Case, CaseResult | None], None]


@dataclass(frozen=True, slots=True)
class Benchmark(Generic[CaseT]):
    """A benchmark: Tilewright as a contender, and the peers by name."""

    name: str
    tilewright: Peer[CaseT]
    peers: Mapping[str, Peer[CaseT]]
    peak: str = "float32"
    """The element type whose peak shares are of; float32 where this machine has no instruction for it."""

    def chosen_peers(self, names: Sequence[str] | None) -> tuple[Peer[CaseT], ...]:
        """The peers of these names (None: all that matter). Raises `TilewrightError` for one that is not installed."""
        if names is None:
            return tuple(peer for peer in self.peers.values() if not peer.missing() and peer.matters())
        for name in names:
            if missing := self.peers[name].missing():
                raise TilewrightError(
                    f"the peer {name} cannot be measured",
                    why=f"not installed: {', '.join(missing)}",
                    hint=self.peers[name].hint,
                )
        return tuple(self.peers[name] for name in names)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to measure; `peers` of None takes every peer that is installed."""

    peers: tuple[str, ...] | None = None
    threads: int = 1
    rounds: int = 11
    processes: int = 1


def measured(benchmark: Benchmark[CaseT], cases: Sequence[CaseT], settings: Settings) -> Report:
    """Measure in this process or in fresh ones, with progress on stderr.

    Raises `TilewrightError` for a peer that is not installed.
    """
    benchmark.chosen_peers(settings.peers)
    if settings.processes == 1:
        return _with_progress(benchmark, cases, settings, 1)
    context = multiprocessing.get_context("spawn")
    reports = []
    for number in range(1, settings.processes + 1):
        with ProcessPoolExecutor(1, context) as process:
            reports.append(process.submit(_with_progress, benchmark, cases, settings, number).result())
    return combined(reports)


def _with_progress(benchmark: Benchmark[CaseT], cases: Sequence[CaseT], settings: Settings, process: int) -> Report:
    of_process = f" (process {process} of {settings.processes})" if settings.processes > 1 else ""
    with Progress(benchmark.name + of_process, len(cases)) as progress:
        return run(benchmark, cases, settings, progress.update)


def run(benchmark: Benchmark[CaseT], cases: Sequence[CaseT], settings: Settings, progress: Listener) -> Report:
    """Measure everything; `progress` hears of each case before (with None) and after it. Operands live as long as their turn.

    Raises `TilewrightError` for a peer that is not installed.
    """
    peers = (benchmark.tilewright, *benchmark.chosen_peers(settings.peers))
    machine, compiler = calibration.ensure(), toolchain.find()
    measurer = measurement.compiled(machine)
    peak = benchmark.peak if measurer.has_peak(benchmark.peak) else "float32"
    rates = MeasuredRates(measurer, machine, measurer.peak_loop(peak))
    results = []
    for case in cases:
        progress(case, None)
        result = measure(copy(case), peers, threads=settings.threads, rounds=settings.rounds, rates=rates)
        progress(case, result)
        results.append(result)
    return Report(provenance(machine, compiler, peers, settings.threads), tuple(results))
