"""Progress of tuning: a bar with the time left on a terminal, lines now and then elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from tilewright.cli import tuning_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    monkeypatch.setattr(tuning_progress.time, "monotonic", lambda: now[0])
    with tuning_progress.tuning_progress() as progress:
        show = progress("chain")
        for done in range(0, 101, 10):
            show(done, 100)
            now[0] += 4.0
    assert capsys.readouterr().err.splitlines() == [
        "chain: 0 of 100 plans",
        "chain: 30 of 100 plans, 28 s left",
        "chain: 60 of 100 plans, 16 s left",
        "chain: 90 of 100 plans, 4 s left",
        "chain: 100 of 100 plans",
    ]


def test_the_time_left_is_that_of_plans_which_this_run_measures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(tuning_progress.time, "monotonic", lambda: now[0])
    with tuning_progress.tuning_progress() as progress:
        show = progress("chain")
        for done in (900, 900, 924, 1000, 1000):
            show(done, 1000)
            now[0] += 12.0
    assert capsys.readouterr().err.splitlines() == [
        "chain: 900 of 1000 plans",
        "chain: 924 of 1000 plans, 76 s left",
        "chain: 1000 of 1000 plans",
    ]


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with tuning_progress.tuning_progress() as progress:
        show = progress("chain of two")
        show(24, 100)
    assert "chain of two" in terminal.getvalue()
    assert "24/100" in terminal.getvalue()
