from __future__ import annotations

from tests.golden.reports_golden import golden
from tests.support.hand_results import PROVENANCE, results
from tilewright_bench.tables.means import ratio
from tilewright_bench.tables.report import Report, stock_ratio


def test_the_table_reads_as_it_always_did() -> None:
    text, expected = golden("bench_chains")
    assert text == expected


def test_wrong_results_of_ours_are_reported_and_have_no_ratio() -> None:
    report = Report(PROVENANCE, results())
    assert report.wrong() == ("G1",)
    assert [ratio(result) for result in report.results] == [1.6, 0.5, None, 2.0]
    assert [stock_ratio(result) for result in report.results] == [3.2, 0.5, None, None]


def test_the_document_holds_every_timing() -> None:
    document = Report(PROVENANCE, results()).as_document()
    assert document["provenance"]["commit"] == "abc123"
    assert document["results"][0]["timings"][1] == {
        "contender": "numpy",
        "seconds": 2e-3,
        "error": 1e-7,
        "share": 0.5,
        "read_share": 0.01,
        "to_own": 1.6,
        "failure": "",
        "note": "",
        "saturates": False,
    }
    assert document["results"][2]["timings"][2]["error"] is None
