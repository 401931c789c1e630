from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tilewright.errors import InternalError
from tilewright_bench import benchmarks, peers
from tilewright_bench.measurement.contender import Peer

PEER = """
from tilewright_bench.measurement.contender import Peer

PEERS = {"gemm": Peer("mine", (), lambda case, threads: (), "")}
"""


def test_every_benchmark_has_peers() -> None:
    assert set(benchmarks.CHAINS.peers) >= {"numpy", "onnxruntime", "openvino", "torch", "torch-avx512"}
    assert set(benchmarks.GEMMS.peers) >= {"numpy", "onednn", "torch", "torch-avx512"}
    assert set(benchmarks.ATTENTION.peers) >= {"onnxruntime", "openvino", "torch", "torch-avx512"}
    assert set(benchmarks.MLP.peers) >= {"onnxruntime", "openvino", "torch", "torch-avx512"}
    assert set(benchmarks.CONVOLUTIONS.peers) >= {"im2col+openblas", "onnxruntime", "openvino", "torch", "torch.compile"}
    assert set(benchmarks.CONV_CHAINS.peers) >= {"onnxruntime", "openvino", "torch", "torch.compile"}
    assert set(benchmarks.INT8.peers) >= {"fbgemm", "mkl", "mkl-avx512", "onednn", "onnxruntime", "openvino", "torch"}
    assert set(benchmarks.MODELS.peers) >= {"onnxruntime", "openvino"}


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


def test_peers_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    twice: dict[str, Peer[object]] = {"gemm": Peer("mine", (), lambda case, threads: (), "")}
    monkeypatch.setattr(benchmarks, "offered", lambda: (twice, twice))
    with pytest.raises(InternalError, match="two peers of the benchmark gemm are called 'mine'"):
        benchmarks.peers_of("gemm")
