from __future__ import annotations

from tests.support.bench_cases import CONV_CHAINS
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.conv_chain_report import conv_chain_report
from tilewright_bench.run import Settings


def test_tables_have_floors_peers_and_a_mean_each() -> None:
    cases = [ConvChainCase(CONV_CHAINS["plain"], "first"), ConvChainCase(CONV_CHAINS["inverted residual"], "second")]
    report = conv_chain_report(cases, Settings(peers=("onnxruntime",), rounds=1))
    text = report.as_text()
    assert "first: ms per call" in text
    assert text.count("geometric mean of peer/ours") == 2
    head = next(line for line in text.splitlines() if line.startswith("case"))
    assert head.split()[:8] == ["case", "peak", "ours", "share", "arithmetic", "memory", "onnxruntime", "best"]
    assert not report.wrong()
