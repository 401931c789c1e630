"""PyTorch's compiler as a peer by itself, where compilation of every case takes too long to be done unasked."""

from __future__ import annotations

from typing import Any

from tilewright_bench.measurement.contender import Peer
from tilewright_bench.peers.torch import conv, conv_chains

PEERS: dict[str, Peer[Any]] = {"conv": conv.COMPILED, "conv-chains": conv_chains.COMPILED}
