"""How much faster several threads are than one: Table IV's chains and some products, beside what the machine allows.

    python -m benchmarks.studies.threads [--cases G1,G2-softmax,256x256x2048] [--threads N] [--rounds N]

Both kernels come from the same plan, are checked to give the same bits, and are timed in turns; a ratio is that of the two turns
of one round, and the median over the rounds is shown. The ceiling is the FMA peak of all threads at once over that of one thread,
measured in every round by the same loop: clocks fall when all cores are busy, and a virtual machine may have to share its cores.
Products are named M x N x K.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.studies.parts.publishing import RESULTS, slug
from benchmarks.studies.parts.together import rate_together
from tilewright.machine.machine import Machine
from tilewright.report.layout import columns
from tilewright.runtime import calibration, measurement
from tilewright.runtime.compilation import toolchain
from tilewright.tune.chain_functions import attention, gemm_chain
from tilewright.tune.schedules.cases import product
from tilewright.tune.shapes import TABLE_IV, chain_shape
from tilewright.tune.timing import pair, seconds_per_call
from tilewright_bench.cases.case import FloatArray
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.measurement.provenance import provenance

SOFTMAX = "-softmax"
PRODUCTS = ("320x3072x4096", "2048x4096x32", "31999x1024x84", "256x256x2048", "128x2048x4096", "84x1024x4096", "35x8457x2560")
"""Of `tilewright_bench.cases.gemm_shapes.TABLE_1`: those that take 0.5 to 50 ms on one core."""
CASES = (*(shape.name for shape in TABLE_IV), *(f"{shape.name}{SOFTMAX}" for shape in TABLE_IV), *PRODUCTS)
PEAK_TRIPS = 20_000
"""Some 0.15 ms."""
LEAST_RATIO = 1.8
"""Required of two threads on work of at least `LEAST_S`."""
LEAST_S = 5e-4


@dataclass(frozen=True, slots=True)
class Found:
    """One case: seconds per call on one thread and on several, and medians over the rounds of the ratios in each."""

    case: str
    blocks: int
    """Of the chain that has the fewest."""
    one_s: float
    several_s: float
    ratio: float
    ceiling: float

    def cells(self) -> list[str]:
        """A row of the table."""
        times = [f"{1e3 * seconds:.3f}" for seconds in (self.one_s, self.several_s)]
        note = "short" if self.one_s < LEAST_S else "" if self.ratio >= LEAST_RATIO else "below"
        ratios = [f"{self.ratio:.2f}", f"{self.ceiling:.2f}", f"{self.ratio / self.ceiling:.2f}"]
        return [self.case, str(self.blocks), *times, *ratios, note]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table, and write it beside the earlier results if it has all cases."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.threads", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", help="default: Table IV plain and with softmax, and products")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    machine, compiler = calibration.ensure(), toolchain.find()
    peaks = Peaks(measurement.compiled(machine).library)
    names = options.cases.split(",") if options.cases else CASES
    found = [measured(name, options.threads, options.rounds, peaks) for name in names]
    text = "\n".join([*provenance(machine, compiler, (), options.threads).lines(), "", *table(found, options.threads)])
    print(text)
    if not options.cases:
        write(text, machine, options.threads)


def measured(name: str, threads: int, rounds: int, peaks: Peaks) -> Found:
    """One case: compiled for both numbers of threads, checked, timed in turns."""
    function, operands = case_named(name)
    lowered = {count: tw.jit(function, threads=count).lower(*operands) for count in (1, threads)}
    kernels = [lowered[count].compile() for count in (1, threads)]
    results = [kernel(*operands) for kernel in kernels]
    assert np.array_equal(results[0], results[1]), f"{name}: the result depends on the number of threads"
    out = np.empty_like(results[0])
    turns = [partial(seconds_per_call, partial(kernel, *operands, out=out)) for kernel in kernels]
    ceilings, pairs = list[float](), list[tuple[float, float]]()
    for number in range(rounds):
        ceilings.append(peaks.ceiling(threads))
        pairs.append(pair(turns[0], turns[1], number))
    one_s, several_s = (median(seconds) for seconds in zip(*pairs, strict=True))
    blocks = min(plan.price.blocks for plan in lowered[1].model_plan.plans)
    return Found(name, blocks, one_s, several_s, median(one / several for one, several in pairs), median(ceilings))


def case_named(name: str) -> tuple[Callable[..., Any], tuple[FloatArray, ...]]:
    """The function of a case and its operands; `KeyError` or `ValueError` if there is none of that name."""
    if not name.startswith("G"):
        m, n, k = map(int, name.split("x"))
        generator = np.random.default_rng(20240229)
        return product, (generator.standard_normal((m, k), np.float32), generator.standard_normal((k, n), np.float32))
    case = ChainCase(chain_shape(name.removesuffix(SOFTMAX)), name.endswith(SOFTMAX))
    return (attention if case.softmax else gemm_chain), case.operands


class Peaks:
    """The loop of independent multiply-adds, on one thread or on several at once."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.run = library.peak_float32
        self.run.argtypes, self.run.restype = (ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p), ctypes.c_long
        self.factors = np.array(measurement.FACTORS, np.float32)

    def ceiling(self, threads: int) -> float:
        """The rate of all threads together over that of one."""
        return self.rate(threads) / self.rate(1)

    def rate(self, threads: int) -> float:
        """Flops per second of all threads."""

        def loop() -> int:
            sink = np.empty(32, np.float32)
            return int(self.run(PEAK_TRIPS, self.factors.ctypes.data, sink.ctypes.data + -sink.ctypes.data % 64))

        return rate_together([loop] * threads)


def table(found: list[Found], threads: int) -> Iterator[str]:
    """Medians of all cases; those that are too short for a bound, or below it, are marked."""
    head = ["case", "blocks", "1 thread ms", f"{threads} threads ms", "ratio", "ceiling", "of ceiling", ""]
    yield from columns([head, *(one.cells() for one in found)], right=list(range(1, 7)))


def write(text: str, machine: Machine, threads: int) -> None:
    """`<date>-threads-<machine>.md` among the results."""
    path = RESULTS / f"{datetime.date.today().isoformat()}-threads-{slug(machine.name)}.md"
    path.write_text(f"# {threads} threads over one\n\n```text\n{text}\n```\n")


if __name__ == "__main__":
    main()
