from __future__ import annotations

from dataclasses import replace

from tests.support.hand_results import PROVENANCE, case, timing
from tilewright_bench.cases.required import NOTHING, Required
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.tables import required_table
from tilewright_bench.tables.report import Report


def hand_made() -> tuple[CaseResult, ...]:
    """One that passes, one that misses, one that cannot be computed, and the odd counterpart of the first."""
    title = next(iter(required_table.MEANS))
    fast, slow = timing(TILEWRIGHT, 1.25e-3, 1.25e-3), timing(TILEWRIGHT, 1.6e-3, 1.6e-3)
    peers = (
        timing("openvino", 2e-3, 1.25e-3),
        timing("avx512 torch in steps", 4e-3, 1.25e-3),
        timing("openvino sdpa", 3e-3, 1.25e-3),
    )
    failed = Timing(TILEWRIGHT, None, float("inf"), failure="UnsupportedOperation: no such thing")
    return (
        replace(case("fast", title, fast, *peers), required=Required(share=0.75, ratio=1.5)),
        replace(case("slow", title, slow, timing("openvino", 2e-3, 1.6e-3)), required=Required(share=0.75)),
        replace(case("sick", title, failed, timing("openvino", 2e-3, None)), required=NOTHING),
        replace(case("fast odd", "odd sizes, seed 1", slow), required=NOTHING, even="fast"),
    )


def test_tables_say_what_is_required_and_whether_it_is_reached() -> None:
    lines = Report(PROVENANCE, hand_made()).as_text().splitlines()
    begin = lines.index(f"{next(iter(required_table.MEANS))}: ms per call")
    table = [line.split() for line in lines[begin + 1 :]]
    assert table[0][:7] == ["case", "peak", "ours", "GFLOP/s", "share", "openvino", "avx512"]
    expected = "fast 100 1.25 80.0 80.0% peak 2.00 4.00 openvino 1.600 75% of peak, 1.50x pass"
    assert table[1] == expected.split()
    assert table[2][-1] == "miss"
    assert table[3] == ["sick", "100", "not", "yet", "-", "-", "2.00", "-", "openvino", "-", "-", "-"]
    assert lines[begin + 5] == "geometric mean of peer/ours of 2 of 3 cases: 1.414 (1.10 required: pass)"
    assert "5% of fast  miss" in lines[begin + 9]
    assert lines[-1] == "tilewright took no part in sick: UnsupportedOperation: no such thing"


def test_what_cannot_be_computed_is_not_wrong() -> None:
    assert Report(PROVENANCE, hand_made()).wrong() == ()
    assert required_table.shortfalls(hand_made()[2], None) == ["UnsupportedOperation: no such thing"]
