from __future__ import annotations

from typing import Any

import pytest

from tests.support.bench_cases import ATTENTIONS, CONV_CHAINS, NETWORKS, TINY
from tilewright.errors import UnsupportedOperation
from tilewright_bench import benchmarks
from tilewright_bench.benchmarks import ATTENTION, CHAINS, GEMMS, MLP, TYPED_GEMMS
from tilewright_bench.cases import mlp_shapes
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.attention_shapes import AttentionShape
from tilewright_bench.cases.case import TOLERANCE
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.conv_chain_shapes import ConvChain
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.dynamic_int8 import DynamicCase
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.cases.gemm_shapes import GemmShape
from tilewright_bench.cases.int8 import Int8Case
from tilewright_bench.cases.int8_shapes import Int8Shape
from tilewright_bench.cases.int16 import Int16Case
from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_shapes import MlpShape
from tilewright_bench.cases.nbits import NbitsCase
from tilewright_bench.measurement import call_loops
from tilewright_bench.measurement.contender import Peer
from tilewright_bench.run import Benchmark

COMPILED = "torch.compile"
"""Takes Inductor seconds; what it compiles is what is called eagerly beside it."""


@pytest.mark.parametrize("prepacked", [False, True])
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("peer", [CHAINS.tilewright, *CHAINS.peers.values()], ids=lambda peer: peer.name)
def test_peers_of_chains_compute_what_the_reference_says(peer: Peer[ChainCase], softmax: bool, prepacked: bool) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    case = ChainCase(TINY, softmax, prepacked)
    for contender in peer.prepare(case, 1):
        contender.call()
        assert case.error(contender.result()) < 1e-5


@pytest.mark.parametrize("prepacked", [False, True])
@pytest.mark.parametrize("shape", [GemmShape(7, 5, 3), GemmShape(16, 16, 16)], ids=lambda shape: shape.name)
@pytest.mark.parametrize("peer", [GEMMS.tilewright, *GEMMS.peers.values()], ids=lambda peer: peer.name)
def test_peers_of_products_compute_what_the_reference_says(peer: Peer[GemmCase], shape: GemmShape, prepacked: bool) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    case = GemmCase(shape, prepacked)
    for contender in peer.prepare(case, 1):
        contender.call()
        assert case.error(contender.result()) < 1e-5
        assert contender.executions == (call_loops.executions(case.flops) if shape.is_square else 1)


@pytest.mark.parametrize("dtype", ["float64", "int32", "int16", "float16"])
@pytest.mark.parametrize("peer", [TYPED_GEMMS.tilewright, *TYPED_GEMMS.peers.values()], ids=lambda peer: peer.name)
def test_peers_of_products_of_other_types_compute_what_the_reference_says(peer: Peer[GemmCase], dtype: str) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    for shape, prepacked in ((GemmShape(7, 5, 3), False), (GemmShape(16, 16, 16), True)):
        case = GemmCase(shape, prepacked, dtype=dtype)
        if "torch" in peer.name and dtype == "int16":
            with pytest.raises((UnsupportedOperation, RuntimeError), match="are summed in that type"):
                list(peer.prepare(case, 1))
            continue
        for contender in peer.prepare(case, 1):
            contender.call()
            assert case.error(contender.result()) <= contender.tolerance == case.tolerance
            assert (contender.executions > 1) == (case.is_looped and contender.name != "onnxruntime")


@pytest.mark.parametrize("shape", ATTENTIONS.values(), ids=list(ATTENTIONS))
@pytest.mark.parametrize("peer", ATTENTION.peers.values(), ids=lambda peer: peer.name)
def test_peers_of_attention_compute_what_the_reference_says(peer: Peer[AttentionCase], shape: AttentionShape) -> None:
    _check(peer, AttentionCase(shape, "t"))


@pytest.mark.parametrize("shape", NETWORKS.values(), ids=list(NETWORKS))
@pytest.mark.parametrize("peer", MLP.peers.values(), ids=lambda peer: peer.name)
def test_peers_of_linear_layers_compute_what_the_reference_says(peer: Peer[MlpCase], shape: MlpShape) -> None:
    _check(peer, MlpCase(shape, "t"))


@pytest.mark.parametrize("shape", CONV_CHAINS.values(), ids=list(CONV_CHAINS))
@pytest.mark.parametrize(
    "peer", [benchmarks.CONV_CHAINS.tilewright, *benchmarks.CONV_CHAINS.peers.values()], ids=lambda peer: peer.name
)
def test_contenders_of_convolution_chains_compute_what_the_reference_says(peer: Peer[ConvChainCase], shape: ConvChain) -> None:
    _check(peer, ConvChainCase(shape, "t"))


@pytest.mark.parametrize("shape", [Int8Shape(1, 5, 3), Int8Shape(7, 48, 70)], ids=lambda shape: shape.name)
@pytest.mark.parametrize("peer", [benchmarks.INT8.tilewright, *benchmarks.INT8.peers.values()], ids=lambda peer: peer.name)
def test_contenders_of_products_of_bytes_compute_what_the_reference_says(peer: Peer[Int8Case], shape: Int8Shape) -> None:
    """Libraries are asked for weights of 7 bits: without VNNI their 16-bit sums saturate on wider ones."""
    _check(peer, Int8Case(shape, weight_bits=8 if peer is benchmarks.INT8.tilewright else 7))


@pytest.mark.parametrize("name", ["mkl", "onednn"])
def test_peers_of_unpacked_products_of_bytes_compute_what_the_reference_says(name: str) -> None:
    _check(benchmarks.peers_of("int8-unpacked")[name], Int8Case(Int8Shape(7, 48, 70), 7, prepacked=False))


SMALL = Int8Shape(3, 40, 64)


@pytest.mark.parametrize(
    ("benchmark", "case"),
    [
        (benchmarks.INT8_DYNAMIC, DynamicCase(SMALL)),
        (benchmarks.INT16, Int16Case(SMALL)),
        (benchmarks.NBITS_AS_FLOATS, NbitsCase(SMALL, 0)),
        (benchmarks.NBITS_AS_BYTES, NbitsCase(SMALL, 4)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_contenders_of_other_products_compute_what_the_reference_says(benchmark: Benchmark[Any], case: Any) -> None:
    """A result of another scale is none of them."""
    assert case.error(case.reference * 1.2) > TOLERANCE
    for peer in (benchmark.tilewright, *benchmark.peers.values()):
        if not peer.missing() and peer.name != "mkl-avx512":
            _check(peer, case)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_our_attention_computes_what_the_reference_says(name: str) -> None:
    _check(ATTENTION.tilewright, AttentionCase(ATTENTIONS[name], "t"))


@pytest.mark.parametrize("network", NETWORKS)
def test_our_linear_layers_compute_what_the_reference_says(network: mlp_shapes.Network) -> None:
    _check(MLP.tilewright, MlpCase(NETWORKS[network], "t"))


def _check(peer: Peer[Any], tested: AttentionCase | MlpCase | ConvChainCase) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    for contender in peer.prepare(tested, 1):
        if COMPILED not in contender.name:
            contender.call()
            limit = 1e-5 if contender.tolerance == TOLERANCE else contender.tolerance
            assert tested.error(contender.result()) < limit, contender.name
