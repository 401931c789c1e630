"""Calls while others use the cores: two threads against one, in turns with other runtimes, and beside a busy process.

    python -m benchmarks.studies.shared_cores [--cases G1,G2-softmax] [--rounds N]

Runtimes let their threads spin for a while after a call, on the cores that the next call wants. In every round each number of
threads is called once directly behind a call of the runtime; beside a busy process it is called after a pause; "alone" it runs
after itself. Ratios are those of several threads over one: of the medians, of the last deciles, and of the longest calls.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median, quantiles
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.studies.threads import CASES, SOFTMAX, case_named
from tilewright.cli.shapes import chain_shape
from tilewright.report.layout import columns
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.measurement.contender import Peer
from tilewright_bench.peers import onnxruntime, torch

CHAINS = tuple(name for name in CASES if name.startswith("G"))
PAUSE_S = 2e-3
RUNTIMES: dict[str, Peer[Any]] = {"onnxruntime": onnxruntime.PEERS["chains"], "torch": torch.PEERS["chains"]}
Call = Callable[[], object]


def main() -> None:
    """Print a line per case and company."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CHAINS))
    parser.add_argument("--company", default="alone,busy process,onnxruntime,torch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    rows = [["case", "company", "1 thread ms", f"{options.threads} threads ms", "ratio", "decile 9", "longest"]]
    for name in options.cases.split(","):
        calls = compiled(name, options.threads)
        for company in options.company.split(","):
            with called_before(company, name, options.threads) as before:
                rows.append([name, company, *cells(*timed(calls, before, options.rounds))])
    print("\n".join(columns(rows, right=list(range(2, 7)))))


def compiled(name: str, threads: int) -> list[Call]:
    """A call on one thread and on several."""
    function, operands = case_named(name)
    kernels = [tw.jit(function, threads=count).lower(*operands).compile() for count in (1, threads)]
    outs = [np.empty_like(kernel(*operands)) for kernel in kernels]
    return [partial(kernel, *operands, out=out) for kernel, out in zip(kernels, outs, strict=True)]


@contextmanager
def called_before(company: str, name: str, threads: int) -> Iterator[Call]:
    """What runs before every call that is timed."""
    if company in RUNTIMES:
        case = ChainCase(chain_shape(name.removesuffix(SOFTMAX)), name.endswith(SOFTMAX))
        yield next(iter(RUNTIMES[company].prepare(case, threads))).call
    elif company == "busy process":
        process = multiprocessing.get_context("spawn").Process(target=spin, args=(max(os.sched_getaffinity(0)),), daemon=True)
        process.start()
        time.sleep(0.5)
        yield partial(time.sleep, PAUSE_S)
        process.kill()
        process.join()
    else:
        yield lambda: None


def spin(cpu: int) -> None:
    """Keep a core busy for ever."""
    os.sched_setaffinity(0, {cpu})
    while True:
        pass


def timed(calls: Sequence[Call], before: Call, rounds: int) -> list[list[float]]:
    """Seconds of every call, by number of threads, in turns."""
    seconds: list[list[float]] = [[] for _ in calls]
    for number in range(rounds):
        for place in range(len(calls)):
            which = (place + number) % len(calls)
            before()
            begin = time.perf_counter()
            calls[which]()
            seconds[which].append(time.perf_counter() - begin)
    return seconds


def cells(one: list[float], several: list[float]) -> list[str]:
    """Of a row of the table."""
    worst = [quantiles(seconds, n=10)[-1] for seconds in (one, several)]
    ratios = median(several) / median(one), worst[1] / worst[0], max(several) / max(one)
    return [*(f"{1e3 * median(seconds):.3f}" for seconds in (one, several)), *(f"{ratio:.2f}" for ratio in ratios)]


if __name__ == "__main__":
    main()
