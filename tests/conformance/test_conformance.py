"""The suite of `onnx.backend.test`: in CI all models, the families that are compiled, and a fixed third of all other nodes.

`python -m tests.conformance` runs whatever is asked for and prints the table of the README.
"""

import pytest

from tests.conformance.cases import cases
from tests.conformance.outcome import COMPILED, UNSUPPORTED, WRONG, outcome
from tests.conformance.unsupported import NUMPY_ONLY, REASONS

EVERYDAY = [case for case in cases() if case.is_everyday() and case.kind != "real"]


@pytest.mark.parametrize("case", EVERYDAY, ids=lambda case: f"{case.kind}-{case.name}")
def test_case(case):
    found = outcome(case)
    assert found.result != WRONG, found.reason
    assert (found.result == UNSUPPORTED) == (case.name in REASONS), found.reason
    if case.is_of_family() and case.name not in NUMPY_ONLY:
        assert found.result == COMPILED, found.reason


@pytest.mark.sweep
@pytest.mark.parametrize(
    "case", [case for case in cases() if not case.is_everyday() or case.kind == "real"], ids=lambda case: case.name
)
def test_other_case(case):
    test_case(case)
