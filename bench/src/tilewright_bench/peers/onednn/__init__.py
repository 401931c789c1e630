"""oneDNN through its C API."""

from __future__ import annotations

from typing import Any

from tilewright_bench.measurement.contender import Peer
from tilewright_bench.peers.onednn import conv, gemm, int8

PEERS: dict[str, Peer[Any]] = {"gemm": gemm.PEER, "conv": conv.PEER, "int8": int8.PEER, "int8-unpacked": int8.PEER}
