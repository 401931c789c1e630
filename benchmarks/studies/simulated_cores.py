"""The ratio of two cores to one, simulated against measured: Chimera's chains, and MLPs.

    python -m benchmarks.studies.simulated_cores [--cases G1,C3,mlp_64] [--rounds 15] [--json FILE]

The simulator (`benchmarks.papers.cores`) deals the blocks of a plan to simulated cores with caches and shared bandwidth. It gets
this machine's figures: a new calibration, and the bandwidth of the L3 and of memory that one core reads with, and two at once.
Kernels are timed on one thread and on two in turns, a pair in every round, and the FMA peak of two cores over that of one is
measured in the same round: the simulated cores run at that clock. Ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import tilewright as tw
from benchmarks.papers.cores.cases import CONV_CHAINS, GEMM_CHAINS, case_named
from benchmarks.papers.cores.links import Link, links_of
from benchmarks.papers.cores.simulation import simulate_cores
from benchmarks.studies.threads import Peaks, rate_together
from tilewright.report.layout import columns
from tilewright.runtime import calibration, measurement
from tilewright.tune.timing import pair, seconds_per_call

MLPS = ("mlp_64", "mlp_32", "low_rank", "ffn_128")
CASES = (*GEMM_CHAINS, *CONV_CHAINS, *MLPS)
CORES = 2
SET_BYTES = {"L3": 8 << 20, "memory": 32 << 20}
"""Read by each core; what is read from memory is flushed from the caches before."""
PASSES = {"L3": 16, "memory": 1}
SAMPLES = 9
HEAD = ("case", "regions", "1 core ms", "simulated", "2 cores ms", "simulated", "peak", "ratio", "simulated", "error")


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
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    options = parser.parse_args(arguments)
    machine = calibration.ensure(recalibrate=True)
    library = measurement.compiled(machine).library
    links = tuple(measured_link(link, library, machine.line_bytes) for link in links_of(machine))
    print(
        machine.name,
        *(f"{link.source}: {_giga(link.core_bytes_per_s)} a core, {_giga(link.total_bytes_per_s)} two" for link in links),
        sep="; ",
    )
    found = [measured(name, options.rounds, Peaks(library), links) for name in options.cases.split(",")]
    print("\n".join(table(found)))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")


def measured_link(link: Link, library: ctypes.CDLL, line_bytes: int) -> Link:
    """A link with the bandwidth that one core reads with, and two at once: the best of some samples."""
    one, two = (max(_read_rate(link.source, count, library, line_bytes) for _ in range(SAMPLES)) for count in (1, CORES))
    return Link(link.source, one, max(one, two))


def _read_rate(source: str, cores: int, library: ctypes.CDLL, line_bytes: int) -> float:
    size_bytes, passes = SET_BYTES[source], PASSES[source]
    arrays = [np.ones(size_bytes // 8 + 8) for _ in range(cores)]
    addresses = [array.ctypes.data + -array.ctypes.data % 64 for array in arrays]

    def read(address: int) -> int:
        library.read_bytes(ctypes.c_void_p(address), ctypes.c_long(size_bytes), ctypes.c_long(passes))
        return size_bytes * passes

    for address in addresses:
        if source == "memory":
            library.flush_bytes(ctypes.c_void_p(address), ctypes.c_long(size_bytes), ctypes.c_long(line_bytes))
        else:
            read(address)
    return rate_together([partial(read, address) for address in addresses])


def measured(name: str, rounds: int, peaks: Peaks, links: Sequence[Link]) -> Found:
    """One case: compiled for both numbers of threads, timed in turns, simulated at the clock that was measured beside."""
    function, operands = case_named(name)
    lowered = [tw.jit(function, threads=count).lower(*operands) for count in (1, CORES)]
    turns = [_turn(one.compile(), operands) for one in lowered]
    ceilings, pairs = list[float](), list[tuple[float, float]]()
    for number in range(rounds):
        ceilings.append(peaks.ceiling(CORES))
        pairs.append(pair(turns[0], turns[1], number))
    plan, ceiling = lowered[1].model_plan, median(ceilings)
    one, two = (
        simulate_cores(plan, count, links=tuple(links), clock=clock) for count, clock in ((1, 1.0), (CORES, ceiling / CORES))
    )
    one_s, two_s = (median(seconds) for seconds in zip(*pairs, strict=True))
    ratio = median(first / second for first, second in pairs)
    return Found(name, len(plan.plans), one_s, one.seconds, two_s, two.seconds, ceiling, ratio)


def _turn(kernel: Callable[..., np.ndarray], operands: Sequence[np.ndarray]) -> Callable[[], float]:
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
