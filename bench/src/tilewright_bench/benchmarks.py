"""The benchmarks: Tilewright and the peers that take part in each.

Every module of `peers/` takes part by being there. Its `PEERS` says in which benchmarks: a `Peer` by the benchmark's name.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from tilewright.errors import InternalError
from tilewright_bench import peers
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.dynamic_int8 import DynamicCase
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.cases.int8 import Int8Case
from tilewright_bench.cases.int16 import Int16Case
from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.model import ModelCase
from tilewright_bench.cases.nbits import NbitsCase
from tilewright_bench.measurement.contender import Peer
from tilewright_bench.run import Benchmark
from tilewright_bench.tilewright_contender import attention, chains, conv, conv_chains, gemm, int8, mlp, model, one_node


@cache
def offered() -> tuple[Mapping[str, Peer[Any]], ...]:
    """What each module of `peers/` takes part in, in the order of the modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(peers.__path__))
    return tuple(import_module(f"{peers.__name__}.{name}").PEERS for name in names)


def peers_of(benchmark: str) -> dict[str, Peer[Any]]:
    """The peers that take part in a benchmark, by name. Raises `InternalError` for a name that two peers have."""
    found: dict[str, Peer[Any]] = {}
    for peer in (mapping[benchmark] for mapping in offered() if benchmark in mapping):
        if peer.name in found:
            raise InternalError(f"two peers of the benchmark {benchmark} are called {peer.name!r}")
        found[peer.name] = peer
    return found


CHAINS: Benchmark[ChainCase] = Benchmark("chains", chains.PEER, peers_of("chains"))
GEMMS: Benchmark[GemmCase] = Benchmark("gemm", gemm.PEER, peers_of("gemm"))
TYPED_GEMMS: Benchmark[GemmCase] = Benchmark("gemm", gemm.OF_TYPE, peers_of("gemm-types"))
ATTENTION: Benchmark[AttentionCase] = Benchmark("attention", attention.PEER, peers_of("attention"))
MLP: Benchmark[MlpCase] = Benchmark("mlp", mlp.PEER, peers_of("mlp"))
MODELS: Benchmark[ModelCase] = Benchmark("model", model.PEER, peers_of("model"))
CONVOLUTIONS: Benchmark[ConvCase] = Benchmark("conv", conv.PEER, peers_of("conv"))
CONV_CHAINS: Benchmark[ConvChainCase] = Benchmark("conv-chains", conv_chains.PEER, peers_of("conv-chains"))
INT8: Benchmark[Int8Case] = Benchmark("int8", int8.PEER, peers_of("int8"), peak="int8")
INT8_UNPACKED: Benchmark[Int8Case] = Benchmark("int8-unpacked", int8.PEER, peers_of("int8-unpacked"), peak="int8")
INT8_DYNAMIC: Benchmark[DynamicCase] = Benchmark("int8-dynamic", one_node.MODEL, peers_of("int8-dynamic"), peak="int8")
INT16: Benchmark[Int16Case] = Benchmark("int16", one_node.WORDS, peers_of("int16"), peak="int16")
NBITS_AS_FLOATS: Benchmark[NbitsCase] = Benchmark("nbits", one_node.MODEL, peers_of("nbits"))
NBITS_AS_BYTES: Benchmark[NbitsCase] = replace(NBITS_AS_FLOATS, peak="int8")
