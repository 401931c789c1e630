from __future__ import annotations

import pytest

from tests.support.bench_cases import TINY
from tilewright.errors import TilewrightError
from tilewright_bench import run
from tilewright_bench.benchmarks import CHAINS
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.run import Benchmark


def test_processes_measure_the_same_and_are_put_together(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = Benchmark("hand-made", CHAINS.tilewright, {"numpy": CHAINS.peers["numpy"]})
    report = run.measured(benchmark, [ChainCase(TINY, False)], run.Settings(rounds=1, processes=2))
    assert report.provenance.processes == 2
    assert [timing.contender for timing in report.results[0].timings] == ["tilewright", "numpy"]


def test_a_peer_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright_bench.measurement.contender.installed", lambda package: None)
    with pytest.raises(TilewrightError, match="openvino cannot be measured") as caught:
        CHAINS.chosen_peers(("openvino",))
    assert "in a checkout of Tilewright: pip install -e '.[bench]' -e ./bench" in str(caught.value)
    assert CHAINS.chosen_peers(None) == ()
