"""Trying of mutants, with a package of one file."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from itertools import groupby

import pytest

from tests.mutants.drawing import candidates
from tests.mutants.trying import Copy, Outcome, batches, copied, in_order, outcome_of

NUMBERS = """\
def smaller(a, b):
    return a if a < b else b

def half(a):
    return a // 2
"""
TESTS = """\
import os
from tilewright.numbers import half, smaller

def test_smaller():
    assert smaller(1, 2) == 1

def test_half():
    assert half(4) == 2

def test_odd():
    assert half(3) == 1

def test_fails_sometimes():
    assert "TRIED" not in os.environ
"""
NAMES = [f"tests/test_numbers.py::test_{name}" for name in ("fails_sometimes", "smaller", "half", "odd")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    tree = tmp_path_factory.mktemp("given")
    files = {"src/tilewright/__init__.py": "", "src/tilewright/numbers.py": NUMBERS, "tests/test_numbers.py": TESTS}
    for name, text in (files | {"pyproject.toml": "[tool.pytest.ini_options]"}).items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", str(tree)], check=True)
    made = copied(tree, tmp_path_factory.mktemp("copy"))
    assert made.tree != tree
    return made


def outcome(copy: Copy, after: str, budget_s: float = 60.0) -> tuple[str, str]:
    mutant = next(one for one in candidates(copy.tree) if one.after == after)
    found = copy.outcome(mutant, NAMES, {}, budget_s)
    assert (copy.tree / mutant.path).read_text() == NUMBERS
    return found.status, found.test


def test_a_test_notices_a_mutant(copy: Copy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRIED", "1")
    assert outcome(copy, "return a if a <= b else b") == ("passed", "")
    assert outcome(copy, "return a if (not (a < b)) else b") == ("failed", NAMES[1])


@pytest.mark.parametrize(
    ("status", "log", "wanted"),
    [
        (0, [("begins", 0)], Outcome("passed")),
        (5, [], Outcome("passed")),
        (1, [("begins", 1), ("fails", 0)], Outcome("failed", "a::1")),
        (2, [], Outcome("crashed")),
        (-11, [("begins", 0)], Outcome("crashed", "a::1")),
        (None, [("begins", 20)], Outcome("too long", "a::1")),
        (None, [("begins", 110)], Outcome("hung", "a::1")),
        (None, [], Outcome("hung")),
    ],
)
def test_ends_of_processes(status: int | None, log: list[tuple[str, float]], wanted: Outcome):
    lines = [{"what": what, "test": "a::1", "time": time.time() - ago_s} for what, ago_s in log]
    assert outcome_of(status, lines, {"a::1": 10.0}, 180.0) == wanted


def test_time_that_is_over_notices_nothing(copy: Copy):
    assert outcome(copy, "return a * 2", budget_s=0.0) == ("too long", "")


def test_known_killers_come_first_and_every_file_has_its_turn():
    seconds = {"a::1": 1.0, "a::2": 2.0, "b::1": 3.0, "b::2": 4.0, "c::1": 9.0}
    assert in_order(["a::1", "a::2", "b::1"], ["b::2", "c::1"], seconds, {"c::1"}) == ["c::1", "a::1", "b::1", "a::2", "b::2"]


def test_processes_run_every_test_once_and_file_by_file():
    tests = [f"{file}::{number}" for number in range(300) for file in "abc"]
    found = list(batches(tests))
    assert [len(batch) for batch in found] == [10, 60, 400, 430]
    assert Counter(test for batch in found for test in batch) == Counter(tests)
    assert all(len(list(groupby(batch, key=lambda test: test[0]))) == 3 for batch in found)
