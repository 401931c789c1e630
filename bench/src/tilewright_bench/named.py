"""Tilewright's contender of a case, by name: chain:G2:softmax, attention:decode_4096, mlp:ffn_1,
conv-chain:C3, model:FILE.onnx."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilewright.tune.shapes import TABLE_IV
from tilewright_bench.benchmarks import ATTENTION, CHAINS, CONV_CHAINS, MLP, MODELS
from tilewright_bench.cases import attention_shapes, conv_chain_shapes, mlp_shapes
from tilewright_bench.cases.attention import attention_cases
from tilewright_bench.cases.chains import chain_cases
from tilewright_bench.cases.conv_chains import conv_chain_cases
from tilewright_bench.cases.mlp import mlp_cases
from tilewright_bench.cases.model import ModelCase
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender


def case_names() -> Iterator[str]:
    """The names of all cases that need no file."""
    yield from (f"chain:{shape.name}:{kind}" for kind in ("plain", "softmax") for shape in TABLE_IV)
    yield from (f"attention:{shape.name}" for shape in attention_shapes.SHAPES)
    yield from (f"mlp:{shape.name}" for shape in mlp_shapes.SHAPES)
    yield from (f"conv-chain:{shape.name}" for shape in conv_chain_shapes.SHAPES)


def own_contender(name: str, threads: int) -> Contender:
    """The contender, after its first call. Its name is an interface: `benchmarks.studies.paired` asks other revisions for it."""
    peer, case = _peer_and_case(name)
    contender: Contender = next(prepared for prepared in peer.prepare(case, threads) if prepared.name == TILEWRIGHT)
    contender.call()
    return contender


def _peer_and_case(name: str) -> tuple[Any, Any]:
    kind, _, rest = name.partition(":")
    match kind:
        case "chain":
            shape, _, variant = rest.partition(":")
            return CHAINS.tilewright, chain_cases([shape], variant, (False,))[0]
        case "attention":
            return ATTENTION.tilewright, attention_cases([rest])[0]
        case "mlp":
            return MLP.tilewright, mlp_cases([rest])[0]
        case "conv-chain":
            return CONV_CHAINS.tilewright, conv_chain_cases([rest])[0]
        case "model":
            return MODELS.tilewright, ModelCase(Path(rest))
    raise ValueError(f"{name!r} names no case")
