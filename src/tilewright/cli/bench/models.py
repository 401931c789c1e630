"""The benchmark of ONNX models: its contenders."""

from __future__ import annotations

from tilewright.cli.bench.model_peers import onnxruntime, openvino, tilewright
from tilewright.cli.bench.run import Benchmark

PEERS = (onnxruntime.PEER, openvino.PEER)
MODELS = Benchmark("model", tilewright.PEER, {peer.name: peer for peer in PEERS})
