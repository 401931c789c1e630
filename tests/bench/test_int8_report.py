"""`tilewright bench int8`: its table, and what is quick."""

from __future__ import annotations

import pytest

from tilewright.cli.main import main
from tilewright.errors import TilewrightError
from tilewright_bench.cases.int8_shapes import QUICK_NAMES, SHAPES
from tilewright_bench.int8_report import TABLES, chosen, int8_report
from tilewright_bench.run import Settings
from tilewright_bench.tables import int8_table


def test_names_are_unique() -> None:
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(names) == 25


def test_tables_have_the_cases_that_they_are_about() -> None:
    of_bytes = [case for _, cases in chosen(tuple(TABLES), ("16x512x512", "64x512x512"), (7, 8)) for case in cases]
    titles = [case.table.partition(" (")[0] for case in of_bytes]
    assert titles == [*("u8 x s8 products",) * 6, *("f32 x s8 products",) * 2, *("s16 x s16 products",) * 2]
    assert [str(case.required) for case in of_bytes if not case.prepacked] == ["1.40x", "None"]
    with pytest.raises(TilewrightError, match="no case of 64x512x512 is in the tables unpacked"):
        chosen(("unpacked",), ("64x512x512",), (7,))


def test_the_table_has_rates_shares_peers_and_means() -> None:
    cases = chosen(("prepacked",), ("1x512x512", "4x512x512"), (7,))
    report = int8_report(cases, Settings(peers=("onnxruntime",), rounds=1))
    text = report.as_text()
    head = next(line for line in text.splitlines() if line.startswith("case"))
    assert head.split() == [
        *("case", "peak", "floor", "ours", "GOP/s", "share", "read"),
        *("tilewright", "session", "tilewright", "float32", "onnxruntime", "onnxruntime", "QGemm"),
        *("best", "peer", "peer/ours", "required", "verdict"),
    ]
    assert set(int8_table.LEGEND) <= set(text.splitlines())
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
    rows = [line.split()[0] for line in text.splitlines() if line.split("x")[0].isdigit()]
    bytes_, words = QUICK_NAMES[:2], QUICK_NAMES[1]
    assert rows == [*bytes_, bytes_[0], *bytes_, words, *QUICK_NAMES[2:] * 2]
    assert "1.10x onnxruntime" in text
