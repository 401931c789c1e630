"""ONNX Runtime on the CPU."""

from __future__ import annotations

from typing import Any

from tilewright_bench.measurement.contender import Peer
from tilewright_bench.peers.onnxruntime import attention, chains, conv, conv_chains, gemm, int8, mlp, model

PEERS: dict[str, Peer[Any]] = {
    "chains": chains.PEER,
    "attention": attention.PEER,
    "mlp": mlp.PEER,
    "model": model.PEER,
    "conv": conv.PEER,
    "conv-chains": conv_chains.PEER,
    "gemm-types": gemm.PEER,
    **int8.PEERS,
}
