"""The benchmark of Table IV's chains, from the choice of cases to the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.cli.bench.cases import ChainCase
from tilewright.cli.bench.contender import Peer
from tilewright.cli.bench.harness import CaseResult, measure
from tilewright.cli.bench.peers import numpy, onnxruntime, openvino, tilewright, torch
from tilewright.cli.bench.provenance import provenance
from tilewright.cli.bench.table import Report
from tilewright.cli.shapes import TABLE_IV, chain_shape
from tilewright.errors import TilewrightError
from tilewright.runtime import calibration, measurement, toolchain

PEERS = {peer.name: peer for peer in (numpy.PEER, torch.PEER, onnxruntime.PEER, openvino.PEER)}
PEAK_SAMPLE_S = 1e-3
KINDS = {"plain": (False,), "softmax": (True,), "both": (False, True)}


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure: names of Table IV's rows, of `KINDS` and of `PEERS`; None takes every peer that is installed."""

    cases: tuple[str, ...] = tuple(shape.name for shape in TABLE_IV)
    kind: str = "both"
    peers: tuple[str, ...] | None = None
    threads: int = 1
    rounds: int = 11


def run(options: Options, progress: Callable[[ChainCase, CaseResult | None], None]) -> Report:
    """Measure everything; `progress` hears of each case before (with None) and after it.

    Raises `TilewrightError` for a peer that is not installed.
    """
    peers = (tilewright.PEER, *chosen_peers(options.peers))
    machine, compiler = calibration.ensure(), toolchain.find()
    measurer = measurement.compiled(compiler, machine)
    results = []
    for case in chain_cases(options):
        progress(case, None)
        result = measure(
            case,
            peers,
            threads=options.threads,
            rounds=options.rounds,
            peak_flops_per_s=lambda: measurer.peak_flops_per_s("float32", PEAK_SAMPLE_S),
        )
        progress(case, result)
        results.append(result)
    return Report(provenance(machine, compiler, peers, options.threads), tuple(results))


def chain_cases(options: Options) -> list[ChainCase]:
    """Every case in the order of measurement: the plain ones first."""
    return [ChainCase(chain_shape(name), softmax) for softmax in KINDS[options.kind] for name in options.cases]


def chosen_peers(names: Sequence[str] | None) -> tuple[Peer, ...]:
    """The peers of these names, in order; None means all that are installed."""
    if names is None:
        return tuple(peer for peer in PEERS.values() if not peer.missing())
    for name in names:
        if missing := PEERS[name].missing():
            raise TilewrightError(
                f"the peer {name} cannot be measured",
                why=f"not installed: {', '.join(missing)}",
                hint="pip install tilewright[bench]",
            )
    return tuple(PEERS[name] for name in names)
