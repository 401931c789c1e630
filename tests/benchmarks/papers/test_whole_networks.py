"""The study of whole networks: what kind a chain is of, and its table."""

from __future__ import annotations

from benchmarks.papers.whole_networks import BATCHED, COMPUTE, KINDS, MEMORY, kind_of, table
from tilewright.api.onnx.reports import ChainTime


def test_kinds_of_chains() -> None:
    assert kind_of(ChainTime("softmax", 1.0)) == MEMORY
    assert kind_of(ChainTime("scores", 1.0, has_products=True)) == BATCHED
    assert kind_of(ChainTime("linear", 1.0, has_products=True, has_weights=True)) == COMPUTE


def test_the_table_has_the_papers_shares() -> None:
    found = {"fused": 0.5, "apart": 1.0, "onnxruntime": 0.75, "shares": dict.fromkeys(KINDS, 20.0)}
    text = table({"bert_base": found})
    assert "500.00" in text
    assert "30.56 / 42.79 / 26.65" in text
    assert "apart/fused 2.000, onnxruntime/fused 1.500" in text
