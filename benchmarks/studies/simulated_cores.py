"""The ratio of two cores to one, simulated against measured: Chimera's chains, and MLPs.

    python -m benchmarks.studies.simulated_cores [--cases G1,C3,mlp_64] [--rounds 21] [--json FILE]

The simulator (`benchmarks.papers.cores`) deals the blocks of a plan to simulated cores with caches and shared bandwidth. It gets
this machine's figures: a new calibration, and the bandwidth of the L3 and of memory that one core reads with, and two at once.
Kernels are timed on one thread and on two in turns, a pair in every round, and the FMA peak of two cores over that of one is
measured before and after the pair: the simulated cores run at that clock. A host may put both CPUs of a virtual machine on one
core for a while (a ratio of peaks of 1): the half of the rounds in which the peak moved least counts. Ratios are medians.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median

import numpy as np

import tilewright as tw
from benchmarks.papers.cores.cases import CONV_CHAINS, GEMM_CHAINS, case_named
from benchmarks.papers.cores.links import Link, links_of
from benchmarks.papers.cores.simulation import simulate_cores
from benchmarks.studies.parts.together import rate_together
from benchmarks.studies.threads import Peaks
from tilewright.plan.types import ModelPlan
from tilewright.report.layout import columns
from tilewright.runtime import calibration, measurement
from tilewright.tune.timing import Seconds, pair, seconds_per_call

MLPS = ("mlp_64", "mlp_32", "low_rank", "ffn_128")
CASES = (*GEMM_CHAINS, *CONV_CHAINS, *MLPS)
CORES = 2
PIECE_BYTES = 8 << 20
SET_BYTES = {"L3": PIECE_BYTES, "memory": 16 * PIECE_BYTES}
"""Read by each core over and over."""
SAMPLES = 9
HEAD = ("case", "regions", "1 core ms", "simulated", "2 cores ms", "simulated", "peak", "ratio", "simulated", "error")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case before it is timed."""

    name: str
    plan: ModelPlan
    turn_of_one: Seconds
    turn_of_two: Seconds


@dataclass(frozen=True, slots=True)
class Round:
    """The peak of two cores over that of one before and after a pair of turns, and what calls took on one core and on two."""

    before: float
    after: float
    one_s: float
    two_s: float

    @property
    def ceiling(self) -> float:
        """The peak of two cores over that of one, meanwhile."""
        return (self.before + self.after) / 2

    @property
    def drift(self) -> float:
        """By how much the peak moved meanwhile, as a share."""
        return abs(self.after / self.before - 1)

    @property
    def ratio(self) -> float:
        """One core over two."""
        return self.one_s / self.two_s


@dataclass(frozen=True, slots=True)
class Found:
    """One case: seconds on one core and on two, and their ratio, measured and simulated."""

    case: str
    regions: int
    one_s: float
    simulated_one_s: float
    two_s: float
    simulated_two_s: float
    peak_ratio: float
    """Of two cores to one."""
    ratio: float

    @property
    def simulated_ratio(self) -> float:
        """One core over two."""
        return self.simulated_one_s / self.simulated_two_s

    @property
    def error(self) -> float:
        """Of the simulated ratio, relative to the measured one."""
        return self.simulated_ratio / self.ratio - 1

    def cells(self) -> list[str]:
        """A row of the table."""
        times = (self.one_s, self.simulated_one_s, self.two_s, self.simulated_two_s)
        ratios = (self.peak_ratio, self.ratio, self.simulated_ratio)
        milliseconds = (f"{1e3 * seconds:.3f}" for seconds in times)
        return [self.case, str(self.regions), *milliseconds, *(f"{ratio:.2f}" for ratio in ratios), f"{self.error:+.1%}"]


def main(arguments: list[str] | None = None) -> None:
    """Measure, simulate, print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.simulated_cores", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    options = parser.parse_args(arguments)
    machine = calibration.ensure(recalibrate=True)
    library = measurement.compiled(machine).library
    links = tuple(measured_link(link, library) for link in links_of(machine))
    print(
        machine.name,
        *(f"{link.source}: {_giga(link.core_bytes_per_s)} a core, {_giga(link.total_bytes_per_s)} two" for link in links),
        sep="; ",
        flush=True,
    )
    cases = [prepared(name) for name in options.cases.split(",")]
    print(f"{len(cases)} cases compiled; timing", flush=True)
    begin, peaks = time.perf_counter(), Peaks(library)
    rounds = [[one_round(case, peaks, number) for number in range(options.rounds)] for case in cases]
    print(f"timed in {time.perf_counter() - begin:.0f} s; what follows is simulated", flush=True)
    found = [compared(case, each, links) for case, each in zip(cases, rounds, strict=True)]
    print("\n".join(table(found)))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")


def measured_link(link: Link, library: ctypes.CDLL) -> Link:
    """A link with the bandwidth that one core reads with, and two at once: the best of some samples."""
    arrays = [np.ones(SET_BYTES[link.source] // 8 + 8) for _ in range(CORES)]
    readers = [_reader(array, library) for array in arrays]
    one, two = (max(rate_together(readers[:count]) for _ in range(SAMPLES)) for count in (1, CORES))
    return Link(link.source, one, max(one, two))


def _reader(array: np.ndarray[tuple[int], np.dtype[np.float64]], library: ctypes.CDLL) -> Callable[[], int]:
    """Reads the next piece of an array at every call, and begins anew behind the last."""
    begin = array.ctypes.data + -array.ctypes.data % 64
    addresses = cycle(range(begin, begin + array.nbytes - PIECE_BYTES, PIECE_BYTES))

    def read() -> int:
        library.read_bytes(ctypes.c_void_p(next(addresses)), ctypes.c_long(PIECE_BYTES), ctypes.c_long(1))
        return PIECE_BYTES

    return read


def prepared(name: str) -> Prepared:
    """A case, compiled for both numbers of threads."""
    function, operands = case_named(name)
    lowered = [tw.jit(function, threads=count).lower(*operands) for count in (1, CORES)]
    one, two = (_turn(each.compile(), operands) for each in lowered)
    return Prepared(name, lowered[1].model_plan, one, two)


def one_round(case: Prepared, peaks: Peaks, number: int) -> Round:
    """Turns on one core and on two, between two measurements of the peak."""
    before = peaks.ceiling(CORES)
    one_s, two_s = pair(case.turn_of_one, case.turn_of_two, number)
    return Round(before, peaks.ceiling(CORES), one_s, two_s)


def steady_rounds(rounds: Sequence[Round]) -> list[Round]:
    """The half of the rounds in which the peak of two cores moved least."""
    return sorted(rounds, key=lambda one: one.drift)[: (len(rounds) + 1) // 2]


def compared(case: Prepared, rounds: Sequence[Round], links: Sequence[Link]) -> Found:
    """Measured beside simulated at the clock that was measured with it."""
    steady = steady_rounds(rounds)
    ceiling = median(one.ceiling for one in steady)
    one, two = (
        simulate_cores(case.plan, count, links=tuple(links), clock=clock) for count, clock in ((1, 1.0), (CORES, ceiling / CORES))
    )
    one_s, two_s, ratio = (median(getattr(each, figure) for each in steady) for figure in ("one_s", "two_s", "ratio"))
    return Found(case.name, len(case.plan.plans), one_s, one.seconds, two_s, two.seconds, ceiling, ratio)


def _turn(kernel: Callable[..., np.ndarray], operands: Sequence[np.ndarray]) -> Seconds:
    out = np.empty_like(kernel(*operands))
    return partial(seconds_per_call, partial(kernel, *operands, out=out))


def table(found: Sequence[Found]) -> Iterator[str]:
    """All cases; the median and the largest error."""
    yield from columns([list(HEAD), *(one.cells() for one in found)], right=range(1, len(HEAD)))
    errors = [abs(one.error) for one in found]
    yield f"error of the ratio: median {median(errors):.1%}, largest {max(errors):.1%}"


def _giga(rate: float) -> str:
    return f"{rate / 1e9:.1f} GB/s"


if __name__ == "__main__":
    main()
