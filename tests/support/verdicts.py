"""Verdicts of pairs in tests of tuning, without a clock."""

from __future__ import annotations

import pytest

from tilewright.tune.pipeline import tuning, work
from tilewright.tune.timing import Verdict


def judged(monkeypatch: pytest.MonkeyPatch, ratio: float) -> None:
    """The first finalist takes so much of the time of the choice, in all pairs."""
    monkeypatch.setattr(tuning, "worst_ratio", lambda case, plans, threads: ratio)
    monkeypatch.setattr(work, "fastest", lambda own, others, budget_s: Verdict(0, ratio, float(ratio < 1)) if others else None)
