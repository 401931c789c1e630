"""The whole flow, on a device that is Triton's interpreter."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from tests.support.gpu_bench import CARD, SECONDS, SMALL, interpreted
from tilewright_bench.gpu.kernels import APART, OURS
from tilewright_bench.gpu.prepared import EAGER
from tilewright_bench.gpu.tables import report_lines

NAMES = tuple(case.name for case in SMALL)


def test_every_case_runs_and_is_right(interpreter: ProcessPoolExecutor) -> None:
    report = interpreter.submit(interpreted, NAMES).result()
    assert report.wrong() == ()
    assert report.card.target == "a100"
    assert [case.case for case in report.cases] == list(NAMES)
    for case in report.cases:
        assert [one.contender for one in case.checked] == [OURS, APART]
        assert {one.contender: one.seconds for one in case.timed} == dict.fromkeys((OURS, APART, EAGER), SECONDS), case.problems
        assert case.compulsory_bytes > 0
    assert report.fit is not None
    assert report.fit.observations == 2 * len(NAMES)
    assert report.fit.error_after <= report.fit.error_before
    assert [one.problems for one in report.lowerings] == [()] * 2
    assert [text for text in report.left_out if "ncu" in text]
    text = "\n".join(report_lines(report))
    assert CARD in text
    assert "TensorRT 2.29" in text
    json.dumps(report.as_document())


def test_a_wrong_result_is_named(interpreter: ProcessPoolExecutor) -> None:
    report = interpreter.submit(interpreted, ("mlp",), fault="broken").result()
    assert report.wrong() == (f"broken ({OURS})", f"broken ({APART})")


def test_what_raises_is_told_and_ends_nothing(interpreter: ProcessPoolExecutor) -> None:
    report = interpreter.submit(interpreted, ("mlp",), fault="failing").result()
    assert report.wrong() == (f"failing ({OURS}, not run)", f"failing ({APART}, not run)")
    (case,) = report.cases
    assert case.problems == tuple(f"{name}: RuntimeError: an illegal memory access" for name in (OURS, APART, EAGER))
    assert report.fit is None
    assert [line for line in report_lines(report) if line.startswith("failing ")]


def test_a_short_budget_leaves_out_cases_and_says_so(interpreter: ProcessPoolExecutor) -> None:
    report = interpreter.submit(interpreted, NAMES, 4.0).result()
    done = [case.case for case in report.cases]
    assert 0 < len(done) < len(NAMES)
    assert {f"case {name}" for name in NAMES if name not in done} <= set(report.left_out)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_references_are_the_functions(case) -> None:
    """A case's own three texts agree, on the interpreter of graphs."""
    import tilewright as tw

    arguments = tuple(x.astype(np.float32) for x in replace(case).arguments(1))
    result = tw.jit(case.function)(*arguments, interpret=True)
    np.testing.assert_allclose(result, case.expected(arguments), rtol=1e-4, atol=1e-4)
