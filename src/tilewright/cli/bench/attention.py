"""The benchmark of attention: its contenders."""

from __future__ import annotations

from tilewright.cli.bench import mkl_avx512
from tilewright.cli.bench.attention_peers import onnxruntime, openvino, tilewright, torch
from tilewright.cli.bench.run import Benchmark

PEERS = (torch.PEER, mkl_avx512.peer(torch.PEER), onnxruntime.PEER, openvino.PEER)
ATTENTION = Benchmark("attention", tilewright.PEER, {peer.name: peer for peer in PEERS})
