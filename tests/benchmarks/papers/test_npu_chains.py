"""Figure 7 of Chimera on the simulated NPU: the gain of fusion falls with size and crosses 1, with and without launches."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks.papers.npu_chains import GROWING, cases_of, compared, doubled, main, simulated_s
from tilewright.machine import Machine

MACHINE = Machine.named("ascend910")


def test_the_gain_falls_with_size_and_crosses_one() -> None:
    small, *growing = (compared(shape, MACHINE) for shape in cases_of("G12,S1,S2,S3,S4"))
    gains = [one.gain for one in growing]
    assert small.gain > gains[0] > 1 > gains[-1]
    assert all(less < more for more, less in pairwise(gains))
    assert growing[-1].gain_without_launch < 1
    assert small.gain_without_launch < small.gain


def test_rows_of_the_intermediate_in_l1_end_the_gain_and_not_the_unified_buffer() -> None:
    """The paper names the unified buffer; more of it changes nothing, more L1 most."""
    largest = GROWING[-1]
    gain, more_ub, more_l1 = (
        compared(largest, machine).gain for machine in (MACHINE, doubled(MACHINE, ["UB"]), doubled(MACHINE, ["L1"]))
    )
    assert more_ub <= gain * 1.02
    assert more_l1 > gain * 1.2


def test_the_price_is_near_the_simulated_pipes() -> None:
    one = compared(cases_of("S1")[0], MACHINE)
    assert simulated_s(one.fused) == pytest.approx(one.fused.price.seconds, rel=0.1)


def test_every_time_that_is_printed_is_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--cases", "G10", "--simulate", "0"])
    text = capsys.readouterr().out
    assert "every time is predicted" in text
    assert "262 TFLOPS, where Table I says 320" in text
