"""The measurement: everyone on the same data in one process, checked first, then timed in turns beside the machine's peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from tilewright_bench.cases.case import MaySaturate
from tilewright_bench.cases.required import Required
from tilewright_bench.measurement.contender import PLAIN_READ, TILEWRIGHT, CaseT, Contender, Peer
from tilewright_bench.measurement.rounds import MeasuredRates, Round, interleaved

PAUSE_S = 5e-3
"""Before a turn with several threads: the worker threads of whoever ran before spin for some milliseconds."""
CASE_S = 15.0
"""Rounds of a case end when they have taken so long."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One contender on one case. `seconds` is None where its result was wrong (`error`, relative) or it failed (`failure`)."""

    contender: str
    seconds: float | None
    error: float
    share: float | None = None
    """Of the peak, the larger of those measured before and after each turn."""
    read_share: float | None = None
    """Of the bandwidth with which the case's memory level is read, the larger of those before and after all turns; where a plain
    read of the same bytes has its turns, of its speed in the same round."""
    to_own: float | None = None
    """Its time over ours in the same round; above 1 we are faster."""
    failure: str = ""
    note: str = ""
    """How the contender computes the case."""
    saturates: bool = False
    """Whether its result is that of sums that saturate in 16 bits: wrong, but timed, since it is what the library does."""

    @property
    def is_tilewright(self) -> bool:
        """Whether this is ours, or a variant of it.

        >>> Timing("tilewright fast", 1.0, 0.0).is_tilewright, Timing("torch", 1.0, 0.0).is_tilewright
        (True, False)
        """
        return self.contender.partition(" ")[0] == TILEWRIGHT


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case: the timings (medians over the rounds), and what one core could do at most while they were taken."""

    case: str
    table: str
    prepacked: bool
    flops: int
    moved_bytes: int
    peak_flops_per_s: float
    level: str
    """The smallest memory level that holds its bytes,"""
    bandwidth_bytes_per_s: float
    """and the bandwidth of reading from there."""
    timings: tuple[Timing, ...]
    required: Required | None = None
    """None where what must be reached is not the case's to say."""
    even: str = ""
    """The case of even sizes whose share must be kept."""

    @property
    def is_memory_bound(self) -> bool:
        """Whether its bytes take longer than its operations."""
        return memory_bound(self.flops, self.moved_bytes, self.peak_flops_per_s, self.bandwidth_bytes_per_s)

    def bound_share(self, timing: Timing) -> float | None:
        """The share of what binds: the peak or the bandwidth."""
        return timing.read_share if self.is_memory_bound else timing.share

    def timing(self, contender: str) -> Timing | None:
        """The timing of that contender, None where it did not take part."""
        return next((timing for timing in self.timings if timing.contender == contender), None)

    def best_peer(self, library: str = "") -> Timing | None:
        """The fastest right contender apart from Tilewright and the plain read; of those of one library (the first word)."""
        others = [timing for timing in self.timings if timing.contender != PLAIN_READ and not timing.is_tilewright]
        others = [timing for timing in others if library in ("", timing.contender.partition(" ")[0])]
        return _fastest([timing for timing in others if timing.seconds is not None and not timing.saturates])

    def best_saturating_peer(self) -> Timing | None:
        """The fastest of those whose sums saturate; None where none does."""
        return _fastest([timing for timing in self.timings if timing.saturates])


def _fastest(timings: Sequence[Timing]) -> Timing | None:
    return min(timings, key=lambda timing: timing.to_own or timing.seconds or 0.0, default=None)


def memory_bound(flops: int, moved_bytes: int, peak_flops_per_s: float, bandwidth_bytes_per_s: float) -> bool:
    """Whether moving the bytes takes longer than the operations (the roofline model).

    >>> memory_bound(2048 * 128 * 2, 1_057_280, 250e9, 110e9)
    True
    """
    return moved_bytes / bandwidth_bytes_per_s > flops / peak_flops_per_s


def measure(case: CaseT, peers: Sequence[Peer[CaseT]], *, threads: int, rounds: int, rates: MeasuredRates) -> CaseResult:
    """Prepare and check all contenders, then time them in turns; figures are medians over the rounds."""
    prepared = [entry for peer in peers for entry in _prepared(peer, case, threads)]
    running = [entry for entry in prepared if isinstance(entry, Contender)]
    failed = [entry for entry in prepared if isinstance(entry, Timing)]
    errors = {contender: case.error(contender.result()) for contender in running}
    saturating = {contender for contender in running if errors[contender] > contender.tolerance and _saturates(case, contender)}
    right = [contender for contender in running if errors[contender] <= contender.tolerance or contender in saturating]
    level = rates.level_of(case.moved_bytes)
    before = rates.bandwidth_bytes_per_s(level)
    turns = interleaved(
        {contender.name: contender.seconds for contender in right},
        rounds,
        rates.peak_flops_per_s,
        pause_s=PAUSE_S if threads > 1 else 0.0,
        budget_s=CASE_S,
    )
    bandwidth = max(before, rates.bandwidth_bytes_per_s(level))
    peak = (
        median(turn.peak_flops_per_s for pass_turns in turns for turn in pass_turns.values())
        if right
        else rates.peak_flops_per_s()
    )
    work = _Work(case.flops / threads, case.moved_bytes / (bandwidth * threads))
    timings = [
        replace(_timing(contender, error, turns, work), saturates=contender in saturating) for contender, error in errors.items()
    ]
    return CaseResult(
        case.name,
        case.table,
        case.prepacked,
        case.flops,
        case.moved_bytes,
        peak,
        level,
        bandwidth,
        (*timings, *failed),
        case.required,
        case.even,
    )


def _saturates(case: object, contender: Contender) -> bool:
    """Whether a peer's wrong result is explained by saturation; ours never is."""
    if contender.name.partition(" ")[0] == TILEWRIGHT or not isinstance(case, MaySaturate):
        return False
    return case.saturated_error(contender.result()) <= contender.tolerance


@dataclass(frozen=True, slots=True)
class _Work:
    """Of each core."""

    flops: float
    read_s: float
    """What moving the bytes takes at least."""


def _timing(contender: Contender, error: float, rounds: Sequence[Round], work: _Work) -> Timing:
    name = contender.name
    turns = [pass_turns[name] for pass_turns in rounds if name in pass_turns]
    if not turns:
        return Timing(name, None, error, note=contender.note)
    pairs = [pass_turns[name].seconds / pass_turns[TILEWRIGHT].seconds for pass_turns in rounds if TILEWRIGHT in pass_turns]
    reads = [pass_turns[PLAIN_READ].seconds / pass_turns[name].seconds for pass_turns in rounds if PLAIN_READ in pass_turns]
    return Timing(
        name,
        median(turn.seconds for turn in turns),
        error,
        median(work.flops / turn.peak_flops_per_s / turn.seconds for turn in turns),
        median(reads or [work.read_s / turn.seconds for turn in turns]),
        median(pairs) if pairs else None,
        note=contender.note,
    )


def _prepared(peer: Peer[CaseT], case: CaseT, threads: int) -> Iterator[Contender | Timing]:
    """The contenders of a peer after a first call each; a peer that cannot do a case takes no part, with its reason."""
    try:
        for contender in peer.prepare(case, threads):
            contender.call()
            yield contender
    except Exception as problem:
        if not peer.may_fail:
            raise
        lines = str(problem).splitlines() or [""]
        yield Timing(peer.name, None, float("inf"), failure=f"{type(problem).__name__}: {lines[0]}")
