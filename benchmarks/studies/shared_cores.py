"""Calls while others use the cores: several threads against one, in turns with other runtimes, and beside a busy process.

    python -m benchmarks.studies.shared_cores [--cases chain:G1:plain,model:FILE.onnx] [--company torch] [--rounds N]

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

from tilewright.report.layout import columns
from tilewright_bench.cases.chains import chain_cases
from tilewright_bench.measurement.contender import Contender
from tilewright_bench.named import case_names, own_contender
from tilewright_bench.peers import onnxruntime, torch

CHAINS = tuple(name for name in case_names() if name.startswith("chain:"))
RUNTIMES = {"onnxruntime": onnxruntime.PEERS["chains"], "torch": torch.PEERS["chains"]}
RUNTIME_CASE = "G1"
"""What the runtimes compute: 2 to 3 ms on two cores."""
BUSY = "busy process"
ALONE = "alone"
PAUSE_S = 2e-3
"""Of the calls beside a busy process: time for it to use up its share of the core."""
Call = Callable[[], object]


def main() -> None:
    """Print a line per case and company."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CHAINS))
    parser.add_argument("--company", default=",".join((ALONE, BUSY, *RUNTIMES)))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    rows = [["case", "company", "1 thread ms", f"{options.threads} threads ms", "ratio", "decile 9", "longest"]]
    for name in options.cases.split(","):
        contenders = [own_contender(name, threads) for threads in (1, options.threads)]
        for company in options.company.split(","):
            with called_before(company, options.threads) as before:
                rows.append([name, company, *cells(*timed(contenders, before, options.rounds))])
    print("\n".join(columns(rows, right=list(range(2, 7)))))


@contextmanager
def called_before(company: str, threads: int) -> Iterator[Call]:
    """What runs before every call that is timed."""
    if company == ALONE:
        yield lambda: None
    elif company == BUSY:
        with busy_process():
            yield partial(time.sleep, PAUSE_S)
    else:
        (case,) = chain_cases([RUNTIME_CASE], "plain", (False,))
        yield next(iter(RUNTIMES[company].prepare(case, threads))).call


@contextmanager
def busy_process() -> Iterator[None]:
    """A process that computes on the last core that this process may use."""
    process = multiprocessing.get_context("spawn").Process(target=spin, args=(max(os.sched_getaffinity(0)),), daemon=True)
    process.start()
    try:
        time.sleep(0.5)
        yield
    finally:
        process.kill()
        process.join()


def spin(cpu: int) -> None:
    """Keep a core busy."""
    os.sched_setaffinity(0, {cpu})
    while True:
        pass


def timed(contenders: Sequence[Contender], before: Call, rounds: int) -> list[list[float]]:
    """Seconds of every call of each contender, in turns."""
    seconds: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds):
        for place in range(len(contenders)):
            which = (place + number) % len(contenders)
            before()
            begin = time.perf_counter()
            contenders[which].call()
            seconds[which].append((time.perf_counter() - begin) / contenders[which].executions)
    return seconds


def cells(one: list[float], several: list[float]) -> list[str]:
    """Milliseconds and ratios, as they stand in a row of the table."""
    ratios = [figure(several) / figure(one) for figure in (median, last_decile, max)]
    return [*(f"{1e3 * median(seconds):.3f}" for seconds in (one, several)), *(f"{ratio:.2f}" for ratio in ratios)]


def last_decile(seconds: list[float]) -> float:
    """Nine of ten calls take less."""
    return quantiles(seconds, n=10)[-1] if len(seconds) > 1 else seconds[0]


if __name__ == "__main__":
    main()
