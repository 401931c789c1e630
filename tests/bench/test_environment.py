from __future__ import annotations

import os
import sys

import pytest

from tilewright_bench import environment


def test_the_environment_is_fair_after_one_restart(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    started: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "tilewright.cli", "bench", "chains"])
    monkeypatch.setattr(os, "execve", lambda *arguments: started.append(arguments))
    environment.restart_if_unfair(2)
    ((_, command, wanted),) = started
    assert command == [sys.executable, "-m", "tilewright.cli", "bench", "chains"]
    assert "OPENBLAS_CORETYPE" not in wanted
    assert {wanted[name] for name in environment.THREAD_VARIABLES} == {"2"}
    assert environment.fair(wanted, 2) == wanted
    assert "restarting without OPENBLAS_CORETYPE" in capsys.readouterr().err
