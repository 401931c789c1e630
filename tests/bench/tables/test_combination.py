from __future__ import annotations

from tests.support.hand_results import PLAIN, PROVENANCE
from tests.support.hand_results import case as case_of
from tilewright_bench.measurement.harness import Timing
from tilewright_bench.tables.combination import combined
from tilewright_bench.tables.means import ratio
from tilewright_bench.tables.report import Report


def test_several_processes_are_reported_by_medians() -> None:
    def report(seconds: float) -> Report:
        own = Timing("tilewright", seconds, 1e-7, share=seconds, read_share=seconds, to_own=1.0)
        return Report(PROVENANCE, (case_of("G1", PLAIN, own, Timing("numpy", 2.0, 1e-6, 0.5, 0.5, to_own=2.0 / seconds)),))

    together = combined([report(1.0), report(4.0), report(2.0)])
    assert together.provenance.processes == 3
    assert "medians over 3 fresh processes" in together.as_text()
    (result,) = together.results
    assert result.timing("tilewright") == Timing("tilewright", 2.0, 1e-7, 2.0, 2.0, 1.0)
    assert ratio(result) == 1.0


def test_wrong_in_one_process_is_wrong() -> None:
    right, wrong = (case_of("G1", PLAIN, Timing("numpy", seconds, error)) for seconds, error in ((1.0, 1e-7), (None, 0.5)))
    together = combined([Report(PROVENANCE, (result,)) for result in (right, wrong, right)])
    assert together.results[0].timings == (Timing("numpy", None, 0.5),)
