from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilewright_bench import benchmarks, peers

PEER = """
from tilewright_bench.measurement.contender import Peer

PEERS = {"gemm": Peer("mine", (), lambda case, threads: (), "")}
"""


def test_every_benchmark_has_peers() -> None:
    names = {benchmark.name: tuple(benchmark.peers) for benchmark in (benchmarks.CHAINS, benchmarks.GEMMS, benchmarks.MODELS)}
    assert names == {
        "chains": ("numpy", "onnxruntime", "openvino", "torch", "torch-avx512"),
        "gemm": ("numpy", "onednn", "torch", "torch-avx512"),
        "model": ("onnxruntime", "openvino"),
    }
    assert tuple(benchmarks.ATTENTION.peers) == tuple(benchmarks.MLP.peers)


def test_a_file_among_the_peers_is_a_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(PEER)
    monkeypatch.setattr(peers, "__path__", [*peers.__path__, str(tmp_path)])
    benchmarks.offered.cache_clear()
    try:
        assert "mine" in benchmarks.peers_of("gemm")
        assert "mine" not in benchmarks.peers_of("chains")
    finally:
        benchmarks.offered.cache_clear()
        sys.modules.pop("tilewright_bench.peers.mine")
