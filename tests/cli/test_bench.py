from __future__ import annotations

import sys

import click
import pytest

from tilewright.cli import bench
from tilewright.cli import main as command_line
from tilewright.cli.main import main


def test_the_command_is_that_of_the_distribution_where_it_is_installed() -> None:
    command = bench.found()
    assert isinstance(command, click.Group)
    assert set(command.commands) == {"attention", "chains", "gemm", "mlp", "model"}


@pytest.mark.parametrize("arguments", [[], ["--help"], ["chains", "--cases", "G1"]])
def test_without_the_distribution_it_says_how_to_install_it(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing(monkeypatch)
    monkeypatch.setattr(command_line.LazyGroup, "get_command", lambda *_: bench.found())
    assert main(["bench", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error: tilewright bench needs the distribution tilewright-bench\n" in captured.err
    assert "pip install 'tilewright[bench]'" in captured.err


def test_what_is_wrong_with_the_distribution_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tilewright_bench.command", None)
    with pytest.raises(ModuleNotFoundError, match=r"tilewright_bench\.command"):
        bench.found()


def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the distribution were not installed."""
    monkeypatch.setattr(bench, "PACKAGE", "no_such_tilewright_bench")
