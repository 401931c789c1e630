"""Convolutions of a list, one model of one node each, beside libraries: times, predictions, shares of the peak, by kind.

    python -m benchmarks.studies.convolution_list [FILE.csv] [--kinds stem,patch] [--slice 1/4] [--rounds 21] [--json OUT.json]
    python -m benchmarks.studies.convolution_list --join FILE.json [FILE.json ...]

`tilewright_bench.cases.conv_list` says what a list is; without one, those of `tilewright_bench.cases.conv_more`. Bias and ReLU,
NCHW in and out, one thread. Ours (`InferenceSession.run`), onnxruntime (bound) and openvino take turns in one process; results
are held against onnxruntime's. A turn is as many calls as fit `TURN_S`, and one; of all calls the least counts, in CPU time where
a call takes more than `CLOCKED_S`. Of kernels, each takes the least of its profiles, and all take at most the call: profiles have
no CPU time. `--json` keeps the rows, `--join` prints the tables of several files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tilewright.onnx as ort
from benchmarks.studies.parts.convolution_list_table import Row, tables
from tilewright.machine.machine import Machine
from tilewright.runtime import calibration, measurement
from tilewright_bench.cases.case import TOLERANCE, relative_error
from tilewright_bench.cases.conv_list import ListedCase, ListedConv, case_of, listed
from tilewright_bench.cases.conv_more import drawn_more
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender
from tilewright_bench.measurement.rounds import MeasuredRates
from tilewright_bench.peers.onnxruntime.model import PEER as ONNXRUNTIME
from tilewright_bench.peers.openvino.model import PEER as OPENVINO
from tilewright_bench.tilewright_contender.conv import offering, winner

PEERS = {peer.name: peer for peer in (ONNXRUNTIME, OPENVINO)}
TURN_S = 1e-3
CLOCKED_S = 1e-4
"""Below it the system's clock of CPU time costs too much of a call."""
PROFILES = 4
"""In each round."""


@dataclass(slots=True)
class Least:
    """The least seconds of a contender's calls so far; CPU time where a call is long."""

    call: Callable[[], object]
    seconds: float = float("inf")
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self.turn()
        if self.seconds > CLOCKED_S:
            self.clock, self.seconds = time.process_time, float("inf")

    def turn(self) -> None:
        """At least one call, and more while the turn lasts."""
        call, clock, end = self.call, self.clock, time.perf_counter() + TURN_S
        while True:
            begin = clock()
            call()
            self.seconds = min(self.seconds, clock() - begin)
            if time.perf_counter() > end:
                return


def own_session(case: ListedCase) -> tuple[Any, str]:
    """A session on one thread, and the algorithm of the convolution: the winner over others, or the one that was offered."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(case.path, options)
    with offering(None) as names:
        plans = session.model_plans()
    won = [algorithm for plan in plans if (algorithm := winner(plan))]
    return session, [*won, *names, ""][0]


def contenders(case: ListedCase, peers: Sequence[str]) -> tuple[dict[str, Contender], dict[str, str]]:
    """The peers after a first call each, and the reasons of those that cannot do the case."""
    found, failures = dict[str, Contender](), dict[str, str]()
    for name in peers:
        try:
            for contender in PEERS[name].prepare(case, 1):
                contender.call()
                found[name] = contender
        except Exception as problem:
            failures[name] = f"{type(problem).__name__}: {problem}".splitlines()[0]
    return found, failures


def measured(conv: ListedConv, case: ListedCase, options: argparse.Namespace, rates: MeasuredRates) -> Row:
    """The figures of one convolution, in seconds; 0 for ours where its result is wrong."""
    session, algorithm = own_session(case)
    peers, failures = contenders(case, options.peers)
    result = session.run(None, case.feeds)[0].ravel()
    errors = {name: relative_error(result, np.asarray(contender.result(), np.float64)) for name, contender in peers.items()}
    row: Row = {"kind": conv.kind, "case": conv.name, "flops": conv.flops, "algorithm": algorithm, "ours_s": 0.0, "peers_s": {}}
    row["failure"] = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
    if errors and min(errors.values()) > TOLERANCE:
        return {**row, "failure": f"wrong result: {errors}"}
    calls = {TILEWRIGHT: lambda: session.run(None, case.feeds), **{name: peer.call for name, peer in peers.items()}}
    return {**row, **_rounds(calls, lambda: session.profile(case.feeds), options.rounds, rates)}


def _rounds(calls: Mapping[str, Callable[[], object]], profile: Callable[[], Any], count: int, rates: MeasuredRates) -> Row:
    least, profiles, peak = {name: Least(call) for name, call in calls.items()}, [profile()], 0.0
    for number in range(count):
        for name in [*least][:: 1 if number % 2 else -1]:
            peak = max(peak, rates.peak_flops_per_s())
            least[name].turn()
        profiles += [profile() for _ in range(PROFILES)]
    kernels = [min(of_chain, key=lambda chain: chain.seconds) for of_chain in zip(*(one.chains for one in profiles), strict=True)]
    own_s = least.pop(TILEWRIGHT).seconds
    return {
        "ours_s": own_s,
        "peers_s": {name: found.seconds for name, found in least.items()},
        "kernels_s": min(own_s, sum(chain.seconds for chain in kernels)),
        "chains": [[chain.name, chain.seconds, chain.predicted_seconds] for chain in kernels],
        "predicted_s": sum(chain.predicted_seconds for chain in kernels),
        "peak_flops_per_s": peak,
        "machine_flops_per_s": rates.machine.peak("float32"),
    }


def measured_rates() -> MeasuredRates:
    """The loops that measure this machine's peak, and the machine that planning takes it for."""
    machine: Machine = calibration.ensure()
    measurer = measurement.compiled(machine)
    return MeasuredRates(measurer, machine, measurer.peak_loop("float32"))


def chosen(options: argparse.Namespace) -> list[ListedConv]:
    """The list's convolutions of these kinds, and of them the slice."""
    number, parts = map(int, options.slice.split("/"))
    known = listed(options.file) if options.file else drawn_more()
    found = [conv for conv in known if not options.kinds or conv.kind in options.kinds]
    return found[number - 1 :: parts]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.convolution_list", description=summary)
    parser.add_argument("file", type=Path, nargs="?", help="the list; by default the drawn one")
    parser.add_argument("--kinds", type=lambda text: text.split(","), help="of the list; by default all")
    parser.add_argument("--slice", default="1/1", help="the i-th of n parts, as 1/4")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--peers", type=lambda text: [name for name in text.split(",") if name], default=[*PEERS])
    parser.add_argument("--json", type=Path, help="where to keep the rows")
    parser.add_argument("--join", type=Path, nargs="+", help="print the rows of these files, and measure nothing")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> list[Row]:
    """A row for each convolution; they are kept after each."""
    rows, rates, convs = list[Row](), measured_rates(), chosen(options)
    with tempfile.TemporaryDirectory() as directory:
        for number, conv in enumerate(convs, 1):
            rows.append(measured(conv, case_of(conv, Path(directory)), options, rates))
            if options.json is not None:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
            print(f"{number} of {len(convs)}", end="\r", file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    options = parse(arguments)
    if options.join is not None:
        print(tables([row for file in options.join for row in json.loads(file.read_text())]))
        return
    restart_if_unfair(1)
    print(tables(measure(options)))


if __name__ == "__main__":
    main(sys.argv[1:])
