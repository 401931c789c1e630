"""All cases of `onnx.backend.test`: `pytest -m sweep tests/sweeps/test_conformance.py`; some ten minutes with an empty cache."""

from __future__ import annotations

import pytest

from tests.conformance.cases import cases
from tests.conformance.outcome import WRONG, outcome
from tests.conformance.report import PAGE, README, page, with_table


@pytest.mark.sweep
def test_all_cases_are_in_the_columns_that_the_docs_say() -> None:
    outcomes = {case: outcome(case) for case in cases()}
    assert not [(case.name, one.reason) for case, one in outcomes.items() if one.result == WRONG]
    assert page(outcomes) == PAGE.read_text()
    assert with_table(README.read_text(), outcomes) == README.read_text()
