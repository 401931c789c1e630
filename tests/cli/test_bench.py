from __future__ import annotations

import sys

import click
import pytest

from tilewright.cli import bench
from tilewright.cli.main import main


def test_the_commands_are_those_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.bench.list_commands(click.Context(bench.bench)) == [
        "attention",
        "chains",
        "conv",
        "conv-chains",
        "gemm",
        "gpu",
        "int8",
        "mlp",
        "model",
    ]
    assert main(["bench", "--help"]) == 0
    assert "Batch GEMM chains" in capsys.readouterr().out


def test_help_does_without_the_distribution(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench, "PACKAGE", "no_such_tilewright_bench")
    assert main(["--help"]) == 0
    assert "Measure kernels beside the libraries that are installed." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--help"], ["chains", "--cases", "G1"]])
def test_without_the_distribution_it_says_how_to_install_it(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "PACKAGE", "no_such_tilewright_bench")
    assert main(["bench", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: tilewright bench needs the distribution tilewright-bench\n")
    assert "in a checkout of Tilewright: pip install -e . -e ./bench" in captured.err


def test_what_is_wrong_with_the_distribution_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tilewright_bench.command", None)
    with pytest.raises(ModuleNotFoundError, match=r"tilewright_bench\.command"):
        bench.bench.get_command(click.Context(bench.bench), "chains")
