"""The benchmark of single products: its cases and contenders."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli.bench import mkl_avx512
from tilewright.cli.bench.cases import GemmCase
from tilewright.cli.bench.gemm_peers import numpy, onednn, tilewright, torch
from tilewright.cli.bench.run import Benchmark
from tilewright.cli.shapes import gemm_shape

PEERS = (numpy.PEER, torch.PEER, mkl_avx512.peer(torch.PEER), onednn.PEER)
GEMMS = Benchmark("gemm", tilewright.PEER, {peer.name: peer for peer in PEERS})


def gemm_cases(names: Sequence[str], packings: Sequence[bool]) -> list[GemmCase]:
    """Every case in the order of measurement: those without prepacking first."""
    return [GemmCase(gemm_shape(name), prepacked) for prepacked in packings for name in names]
