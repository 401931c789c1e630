"""The benchmark of Table IV's chains: its cases and contenders."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli.bench import mkl_avx512
from tilewright.cli.bench.cases import ChainCase
from tilewright.cli.bench.peers import numpy, onnxruntime, openvino, tilewright, torch
from tilewright.cli.bench.run import Benchmark
from tilewright.cli.shapes import chain_shape

PEERS = (numpy.PEER, torch.PEER, mkl_avx512.peer(torch.PEER), onnxruntime.PEER, openvino.PEER)
CHAINS = Benchmark("chains", tilewright.PEER, {peer.name: peer for peer in PEERS})
KINDS = {"plain": (False,), "softmax": (True,), "both": (False, True)}


def chain_cases(names: Sequence[str], kind: str, packings: Sequence[bool]) -> list[ChainCase]:
    """Every case in the order of measurement: the plain ones first, of each kind those without prepacking first."""
    return [
        ChainCase(chain_shape(name), softmax, prepacked) for softmax in KINDS[kind] for prepacked in packings for name in names
    ]
