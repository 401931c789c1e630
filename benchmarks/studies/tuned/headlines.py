"""Products of PolyDL beside its headlines: over the naive loops, over peers, and the share of the peak; in turns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.studies.tuned import naive
from benchmarks.studies.tuned.building import CORE
from benchmarks.studies.tuned.measuring import undisturbed
from tilewright.tune.schedules.timing import peak_flops_per_s
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.cases.gemm_shapes import GemmShape
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender
from tilewright_bench.peers.numpy import PEERS as NUMPY
from tilewright_bench.peers.onednn import gemm as onednn
from tilewright_bench.peers.torch import gemm as torch
from tilewright_bench.tilewright_contender import gemm as own

ROUNDS, LARGE_ROUNDS, LARGE_FLOPS = 11, 3, 5e9
NAIVE = "naive"


def measure(shape: GemmShape, threads: int = 1) -> dict[str, float]:
    """Seconds of everyone, medians of rounds; and the peak of one core beside them, as "peak_flops_per_s"."""
    if threads == 1:
        os.sched_setaffinity(0, {CORE})
    case = GemmCase(shape)
    contenders = list(_contenders(case, threads))
    for one in contenders:
        one.call()
        error = case.error(one.result())
        assert error < 1e-3, f"{one.name} is wrong by {error}"
    rounds = ROUNDS if shape.flops < LARGE_FLOPS else LARGE_ROUNDS
    times: dict[str, list[float]] = {one.name: [] for one in contenders}
    with TemporaryDirectory(prefix="tilewright-naive-") as directory:
        loops = naive.compiled(Path(directory), threads)
        with undisturbed() if threads == 1 else nullcontext():
            peak = peak_flops_per_s()
            for number in range(rounds):
                for one in contenders[:: 1 if number % 2 else -1]:
                    times[one.name].append(one.seconds())
            naive_s = loops.seconds(*case.operands)
            peak = max(peak, peak_flops_per_s())
    return {**{name: median(found) for name, found in times.items()}, NAIVE: naive_s, "peak_flops_per_s": peak}


def _contenders(case: GemmCase, threads: int) -> Iterator[Contender]:
    """Ours and the peers that are installed."""
    for peer in (own.PEER, NUMPY["gemm"], torch.PEER, onednn.PEER):
        if not peer.missing():
            yield from peer.prepare(case, threads)


def best_peer(times: dict[str, float]) -> float:
    """The time of the fastest peer over ours.

    >>> best_peer({"tilewright": 2.0, "numpy": 3.0, "torch": 4.0, "naive": 1.0, "peak_flops_per_s": 0.1})
    1.5
    """
    peers = [seconds for name, seconds in times.items() if name not in (TILEWRIGHT, NAIVE, "peak_flops_per_s")]
    return min(peers) / times[TILEWRIGHT]


def over_naive(times: dict[str, float]) -> float:
    """The time of the naive loops over ours."""
    return times[NAIVE] / times[TILEWRIGHT]
