"""Every script of `benchmarks/` has a command line that explains itself, and tiny arguments for the sweeps."""

from __future__ import annotations

import logging
import runpy
import sys
from collections.abc import Iterator

import pytest

from tests.support.benchmark_scripts import TINY, scripts


def test_the_sweeps_run_every_script() -> None:
    assert scripts() == sorted(TINY)


@pytest.fixture(autouse=True)
def logged() -> Iterator[None]:
    """Scripts may turn logging off for their process."""
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("script", scripts())
def test_help_says_what_it_takes(script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    assert ended.value.code in (0, None)
    assert capsys.readouterr().out.lower().startswith("usage: ")
