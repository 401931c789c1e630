"""The suite of `onnx.backend.test`: small models, the families that are always compiled, and a fixed part of all other nodes.

`python -m tests.conformance` runs whatever is asked for; tests/sweeps/test_conformance.py compares all of it with the docs.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conformance.cases import KINDS, Case, cases
from tests.conformance.expected import IN_PARTS, NOT_SUPPORTED
from tests.conformance.outcome import COMPILED, UNSUPPORTED, WRONG, outcome
from tests.conformance.report import PAGE, README, names_without_lowering, reference_only, tabulated


def operators(case: Case) -> set[str]:
    """What a test of a node is of; none of other models."""
    return {node.op_type for node in case.model().graph.node} if case.kind == "node" else set()


def everyday() -> Iterator[pytest.ParameterSet]:
    """What runs at every change. `pytest` alone takes two cases of each operator, CI a fourth of the others, too."""
    counts: Counter[str] = Counter()
    for case in filter(Case.is_everyday, cases()):
        is_rare = any(counts[name] < 2 for name in operators(case))
        counts.update(operators(case))
        is_drawn = zlib.crc32(case.name.encode()) % 4 == 0
        marks = () if is_rare else (pytest.mark.ci if is_drawn else pytest.mark.rest,)
        yield pytest.param(case, marks=marks, id=f"{case.kind}-{case.name}")


@pytest.mark.parametrize("case", list(everyday()))
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
