"""The suite of `onnx.backend.test`: small models, the families that are always compiled, and a fixed part of all other nodes.

`python -m tests.conformance` runs whatever is asked for; tests/sweeps/test_conformance.py compares all of it with the docs.
"""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, cases
from tests.conformance.expected import IN_PARTS, NOT_SUPPORTED
from tests.conformance.outcome import COMPILED, UNSUPPORTED, WRONG, outcome
from tests.conformance.report import reference_only

EVERYDAY = [case for case in cases() if case.is_everyday()]


@pytest.mark.parametrize("case", EVERYDAY, ids=lambda case: f"{case.kind}-{case.name}")
def test_case(case: Case) -> None:
    found = outcome(case)
    assert found.result != WRONG, found.reason
    assert (found.result == UNSUPPORTED) == (case.name in NOT_SUPPORTED), found.reason
    assert reference_only().union(IN_PARTS).issuperset(found.numpy_operators)
    if case.is_of_family():
        assert found.result == COMPILED, found.numpy_operators
