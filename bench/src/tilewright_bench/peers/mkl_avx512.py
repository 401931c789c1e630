"""MKL that is told by its environment to use AVX-512, on a CPU of another maker than Intel, where it does not by itself."""

from __future__ import annotations

from tilewright_bench.peers import mkl
from tilewright_bench.peers.torch_avx512 import lacks_avx512

PEERS = mkl.peer(
    "mkl-avx512",
    (("MKL_ENABLE_INSTRUCTIONS", "AVX512"),),
    f"with MKL_ENABLE_INSTRUCTIONS=AVX512: {mkl.NOTE}",
    lacks_avx512,
)
