from __future__ import annotations

import io
import itertools
import logging
import sys

import pytest

import tilewright as tw
from tilewright import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_a_line_on_a_terminal_is_replaced_and_erased(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.preparing("bert\n"):
        progress.step("planning", 1, 2)
        assert terminal.getvalue() == "", "it may end soon"
        clock[0] += 3
        progress.step("compiling", 3, 12)
        progress.step("compiling", 4, 12)
    assert terminal.getvalue() == f"{progress.ERASE_LINE}tilewright: bert: compiling, 3 of 12, 3 s{progress.ERASE_LINE}"


def test_records_where_there_is_no_terminal(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tilewright.progress")
    with progress.preparing("bert"):
        for seconds in (3, 1, 1, 5):
            clock[0] += seconds
            progress.step("compiling", seconds, 12)
    assert [record.getMessage() for record in caplog.records] == [
        "bert: compiling, 3 of 12, 3 s",
        "bert: compiling, 5 of 12, 10 s",
    ]


def test_a_part_shows_the_name_of_the_whole(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tilewright.progress")
    with progress.preparing("model"), progress.preparing("stage"):
        clock[0] += 3
        progress.step("packing", 1, 2)
    assert caplog.records[0].getMessage().startswith("model: packing")


def interrupted(clock: list[float]) -> None:
    with progress.preparing("bert"):
        clock[0] += 3
        progress.step("planning", 1, 2)
        raise KeyboardInterrupt


def test_an_interrupt_erases_the_line(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(KeyboardInterrupt):
        interrupted(clock)
    assert terminal.getvalue().endswith(progress.ERASE_LINE)


def test_steps_outside_of_preparations_show_nothing(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tilewright.progress")
    progress.step("planning", 1, 2)
    assert not caplog.records


def test_planning_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    seconds = itertools.count(0, 6)
    monkeypatch.setattr(progress, "monotonic", lambda: next(seconds))
    caplog.set_level(logging.INFO, "tilewright.progress")
    with progress.preparing("layer"):
        tw.jit(lambda x, w: x @ w, target="x86-64-v3").lower(tw.spec((32, 48)), tw.spec((48, 64)))
    activities = [record.getMessage().split(": ")[1].split(",")[0] for record in caplog.records]
    assert list(dict.fromkeys(activities)) == ["choosing algorithms", "planning"]
