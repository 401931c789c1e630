"""The measurement: everyone on the same data in one process, checked first, then timed in turns beside the machine's peak."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tilewright.cli.bench.cases import TOLERANCE, ChainCase
from tilewright.cli.bench.contender import Contender, Peer

TURN_S = 2e-3
"""Each turn lasts at least this long, and one call."""
PAUSE_S = 5e-3
"""Before a turn with several threads: the worker threads of whoever ran before spin for some milliseconds."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One contender on one case. `seconds` is None where its result was wrong (`error`, relative) or it failed (`failure`)."""

    contender: str
    seconds: float | None
    error: float
    failure: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case: the timings, and what one core could do at most while they were taken."""

    case: str
    softmax: bool
    flops: int
    peak_flops_per_s: float
    """Of one core, measured in turn with the contenders."""
    timings: tuple[Timing, ...]

    def timing(self, contender: str) -> Timing | None:
        """The timing of that contender, None where it did not take part."""
        return next((timing for timing in self.timings if timing.contender == contender), None)

    def best_peer(self, own: str) -> Timing | None:
        """The fastest right one apart from `own`."""
        others = [timing for timing in self.timings if timing.contender != own and timing.seconds is not None]
        return min(others, key=lambda timing: timing.seconds or 0.0, default=None)


def measure(
    case: ChainCase, peers: Sequence[Peer], *, threads: int, rounds: int, peak_flops_per_s: Callable[[], float]
) -> CaseResult:
    """Prepare and check all contenders, then time them in turns; figures are medians over the rounds."""
    prepared = [entry for peer in peers for entry in _prepared(peer, case, threads)]
    running = [entry for entry in prepared if isinstance(entry, Contender)]
    failed = [entry for entry in prepared if isinstance(entry, Timing)]
    errors = {contender.name: case.error(contender.result()) for contender in running}
    right = [contender for contender in running if errors[contender.name] <= TOLERANCE]
    samples: dict[str, list[float]] = {contender.name: [] for contender in right}
    peaks = []
    for _ in range(rounds):
        peaks.append(peak_flops_per_s())
        for contender in right:
            samples[contender.name].append(_turn(contender.call, PAUSE_S if threads > 1 else 0.0))
    timings = [Timing(name, median(samples[name]) if name in samples else None, error) for name, error in errors.items()]
    return CaseResult(case.name, case.softmax, case.shape.flops, median(peaks), (*timings, *failed))


def _prepared(peer: Peer, case: ChainCase, threads: int) -> Iterator[Contender | Timing]:
    """The contenders of a peer after a first call each; a peer that cannot do a case takes no part, with its reason."""
    try:
        for contender in peer.prepare(case, threads):
            contender.call()
            yield contender
    except Exception as problem:
        if peer.name == "tilewright":
            raise
        lines = str(problem).splitlines() or [""]
        yield Timing(peer.name, None, float("inf"), f"{type(problem).__name__}: {lines[0]}")


def _turn(call: Callable[[], object], pause_s: float) -> float:
    """Seconds per call, after one that is not counted."""
    time.sleep(pause_s)
    call()
    calls, elapsed = 0, 0.0
    start = time.perf_counter()
    while elapsed < TURN_S:
        call()
        calls += 1
        elapsed = time.perf_counter() - start
    return elapsed / calls
