"""The suite of `onnx.backend.test`: small models, the families that are always compiled, and a fixed part of all other nodes.

`python -m tests.conformance` runs whatever is asked for; tests/sweeps/test_conformance.py compares all of it with the docs.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.cases import KINDS, Case, cases
from tests.conformance.expected import IN_PARTS, NOT_SUPPORTED
from tests.conformance.outcome import COMPILED, UNSUPPORTED, WRONG, outcome
from tests.conformance.report import PAGE, README, names_without_lowering, reference_only, tabulated

EVERYDAY = [case for case in cases() if case.is_everyday()]


@pytest.mark.parametrize("case", EVERYDAY, ids=lambda case: f"{case.kind}-{case.name}")
def test_case(case: Case) -> None:
    found = outcome(case)
    assert found.result != WRONG, found.reason
    assert (found.result == UNSUPPORTED) == (case.name in NOT_SUPPORTED), found.reason
    assert reference_only().union(IN_PARTS).issuperset(found.numpy_operators)
    if case.is_of_family():
        assert found.result == COMPILED, found.numpy_operators


def test_readme_and_docs_say_what_is_expected() -> None:
    """Cheaply: how many cases there are, and are not supported; which of the others are compiled is counted in tests/sweeps."""
    found = tabulated(PAGE.read_text())
    assert tabulated(README.read_text()) == found
    assert {kind: numbers[0] for kind, numbers in found.items()} == Counter(case.kind for case in cases())
    refused = Counter(case.kind for case in cases() if case.name in NOT_SUPPORTED)
    assert [numbers[3] for numbers in found.values()] == [refused[kind] for kind in KINDS]
    assert all(numbers[0] == sum(numbers[1:]) for numbers in found.values())
    assert names_without_lowering() in PAGE.read_text()
