"""PyTorch on the CPU, as installed."""

from __future__ import annotations

from typing import Any

from tilewright_bench.measurement.contender import Peer
from tilewright_bench.peers.torch import attention, chains, conv, conv_chains, gemm, int8, mlp

PEERS: dict[str, Peer[Any]] = {
    "chains": chains.PEER,
    "gemm": gemm.PEER,
    "gemm-types": gemm.PEER,
    "attention": attention.PEER,
    "mlp": mlp.PEER,
    "conv": conv.PEER,
    "conv-chains": conv_chains.PEER,
    "int8": int8.PEER,
}
