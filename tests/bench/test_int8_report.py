"""`tilewright bench int8`: its table, and what is quick."""

from __future__ import annotations

import pytest

from tilewright.cli.main import main
from tilewright_bench.cases.int8 import int8_cases
from tilewright_bench.cases.int8_shapes import QUICK, SHAPES
from tilewright_bench.int8_report import int8_report
from tilewright_bench.run import Settings


def test_names_are_unique() -> None:
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(names) == 25
    assert {shape.name for shape in QUICK} < set(names)


def test_the_table_has_rates_shares_peers_and_means() -> None:
    report = int8_report(int8_cases(["1x512x512", "4x512x512"], (7,)), Settings(peers=("onnxruntime",), rounds=1))
    text = report.as_text()
    head = next(line for line in text.splitlines() if line.startswith("case"))
    assert head.split() == [
        *("case", "peak", "floor", "ours", "GOP/s", "share", "read"),
        *("tilewright", "session", "tilewright", "float32", "onnxruntime", "onnxruntime", "QGemm"),
        *("best", "peer", "peer/ours", "required", "verdict"),
    ]
    assert "M = 1: " in text
    assert "M = 4: " in text
    assert "75% of peak or 85% of a read, 0.97x" in text
    assert "(1.08 required: " in text
    assert "tilewright float32/ours: at least " in text
    assert not report.wrong()
    exact = [timing for result in report.results for timing in result.timings if not timing.contender.endswith("float32")]
    assert all(timing.error == 0 for timing in exact)


def test_the_quick_run_is_short(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    assert main(["bench", "int8", "--quick", "--weights", "7", "--peers", "onnxruntime"]) == 0
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines() if "x512x512" in line] == [shape.name for shape in QUICK]
