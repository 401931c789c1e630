"""How sweeps judge: what is refused, what is a bug, what crashes; and the summary that they print."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.sweeps import CRASHED, EQUAL, INTERNAL, REFUSED, WRONG, Outcome, judged, judged_in_child, seeds, summary
from tilewright.errors import InternalError, ShapeError


def _raise(problem: Exception) -> Outcome:
    raise problem


@pytest.mark.parametrize(
    ("problem", "kind"),
    [(ShapeError("no"), REFUSED), (InternalError("no"), INTERNAL), (IndexError("no"), INTERNAL), (StopIteration(), INTERNAL)],
)
def test_only_errors_for_users_are_refusals(problem, kind):
    assert judged(lambda: _raise(problem)).kind == kind


def test_crashes_are_outcomes():
    killed = judged_in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))  # type: ignore[arg-type,return-value]
    assert killed == Outcome(CRASHED, "SIGKILL")
    assert judged_in_child(lambda: _raise(KeyError())).kind == CRASHED
    assert judged_in_child(lambda: Outcome(EQUAL)) == Outcome(EQUAL)


def test_summaries_count_causes_without_names_and_numbers():
    bugs = [Outcome(INTERNAL, f"IndexError: t_{number} has {number} dimensions") for number in (3, 4)]
    told = summary([Outcome(EQUAL, as_numpy=("TopK",)), Outcome(WRONG, "by 3"), Outcome(WRONG, "by 4"), *bugs])
    assert told.splitlines()[0].startswith("1 equal, 2 wrong, 2 internal error")
    assert "2 x wrong" in told
    assert "2 x internal error: IndexError: # has # dimensions" in told
    assert "as NumPy: 1 x TopK" in told


def test_the_environment_chooses_seeds(monkeypatch):
    assert len(seeds(5)) == 5
    monkeypatch.setenv("TILEWRIGHT_SWEEP_SEED", "70")
    monkeypatch.setenv("TILEWRIGHT_SWEEP_COUNT", "3")
    assert seeds(5) == range(70, 73)
