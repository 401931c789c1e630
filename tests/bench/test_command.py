from __future__ import annotations

import json

import click
import pytest

from tilewright.cli.main import main
from tilewright_bench.benchmarks import CHAINS
from tilewright_bench.command import CHAIN_NAMES, GEMM_NAMES, names_of
from tilewright_bench.measurement.contender import TILEWRIGHT


def test_names_are_known_and_in_any_case() -> None:
    context, parameter = click.Context(click.Command("x")), click.Option(["--cases"])
    assert names_of(CHAIN_NAMES)(context, parameter, "g2, G10") == ("G2", "G10")
    assert names_of(CHAIN_NAMES)(context, parameter, None) is None
    with pytest.raises(click.BadParameter, match="mkl: choose from"):
        names_of(tuple(CHAINS.peers))(context, parameter, "mkl")


@pytest.mark.parametrize("file", ["/nonexistent/x.json", "/"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright_bench.command.measured_chains", None)
    assert main(["bench", "chains", "--json", file]) == 2
    assert file in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attention", "--cases", "block_127"], "block_127: did you mean block_"),
        (["mlp", "--peers", "mkl"], "mkl: choose from "),
        (["conv-chains", "--cases", "C9"], "C9: choose from C1, "),
        (["int8", "--cases", "1x1x1"], "1x1x1: did you mean "),
        (["mlp", "--seed", "x"], "'x' is not a valid integer"),
    ],
)
def test_unusable_options_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "16x16"], "16x16: did you mean 16x16x16"),
        (["--peers", "mkl"], "mkl: choose from "),
        (["--processes", "0"], "0 is not in the range"),
        (["--repeats", "none"], "'none' is not a valid integer"),
    ],
)
def test_unusable_options_of_products_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gemm", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_chains_print_a_document_that_can_be_piped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    command = "bench chains --cases G10 --plain --not-prepacked --peers numpy --repeats 1 --json -"
    assert main(command.split()) == 0
    captured = capsys.readouterr()
    (result,) = json.loads(captured.out)["results"]
    assert [timing["contender"] for timing in result["timings"]] == ["tilewright", "numpy"]
    assert all(timing["seconds"] > 0 for timing in result["timings"])
    assert "chains [1/1] G10 (plain chains): " in captured.err


def test_products_print_a_document_that_can_be_piped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    assert main(["bench", "gemm", "--cases", "16x16x16", "--peers", "numpy", "--repeats", "1", "--json", "-"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [result["prepacked"] for result in results] == [False, True]
    assert [timing["contender"] for timing in results[0]["timings"]] == ["tilewright", "numpy (cblas)"]
    assert "2048x1x128" in GEMM_NAMES


@pytest.mark.parametrize(("benchmark", "name"), [("attention", "block_128"), ("mlp", "lora_128")])
def test_attention_and_linear_layers_print_a_document_that_can_be_piped(
    benchmark: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    assert main(["bench", benchmark, "--cases", name, "--peers", ",", "--repeats", "1", "--json", "-"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["case"] == name
    assert [one["contender"] for one in result["timings"]] == [TILEWRIGHT]
    assert {"share", "read_share", "ratio"} <= set(result["required"])
