"""What `pytest` leaves to `.ci/run`: the tables name what is there, and every operator and micro kernel has its tests in both."""

from __future__ import annotations

from tests.conformance.cases import Case, cases
from tests.conformance.test_conformance import everyday, operators
from tests.support.samples import ONLY_IN_CI, SAMPLED, TESTS


def test_tables_name_files_and_folders() -> None:
    names = [path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*")]
    assert [name for name in ONLY_IN_CI if name not in names] == []
    assert [name for name in SAMPLED if not any(_is_in(name, found) for found in names)] == []


def _is_in(sampled: str, path: str) -> bool:
    """Whether a file or folder has what an entry names: by the beginning of its path, and behind :: of a test's name."""
    file, _, test = sampled.partition("::")
    return path.startswith(file) and (not test or f"def {test.rstrip('[')}" in (TESTS / path).read_text("utf-8"))


def test_every_operator_has_a_case_and_every_micro_kernel_its_contract() -> None:
    taken = [parameters.values[0] for parameters in everyday() if not parameters.marks]
    everywhere = {name for case in filter(Case.is_everyday, cases()) for name in operators(case)}
    assert everywhere == {name for case in taken for name in operators(case)}
    assert not "contract/test_matmul_kernels.py".startswith((*SAMPLED, *ONLY_IN_CI))
