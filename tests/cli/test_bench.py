from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from tests.golden.reports_golden import golden
from tests.support.hand_results import PLAIN, PROVENANCE, results
from tests.support.hand_results import case as case_of
from tilewright.cli.bench import environment, run
from tilewright.cli.bench.cases import ChainCase
from tilewright.cli.bench.chains import CHAINS, chain_cases
from tilewright.cli.bench.combination import combined
from tilewright.cli.bench.command import CHAIN_NAMES, CHAIN_PEERS, _names
from tilewright.cli.bench.contender import Contender, Peer
from tilewright.cli.bench.harness import CaseResult, Timing, measure
from tilewright.cli.bench.means import ratio
from tilewright.cli.bench.provenance import commit
from tilewright.cli.bench.run import Benchmark
from tilewright.cli.bench.table import Report, stock_ratio
from tilewright.cli.main import main
from tilewright.cli.shapes import ChainShape
from tilewright.errors import TilewrightError

TINY = ChainShape("tiny", batch=2, m=5, n=3, k=4, l=6)


class RoundRates:
    """A machine that does a GFLOP/s and reads a GB/s."""

    def peak_flops_per_s(self) -> float:
        return 1e9

    def level_of(self, size_bytes: int) -> str:
        return "L1"

    def bandwidth_bytes_per_s(self, level: str) -> float:
        return 1e9


def measured(case: ChainCase, peers: list[Peer[ChainCase]], rounds: int = 1) -> CaseResult:
    return measure(case, peers, threads=1, rounds=rounds, rates=RoundRates())


def fixed(name: str, result: Callable[[], Any], calls: list[str] | None = None) -> Peer[ChainCase]:
    """A peer with one contender that always has the same result."""

    def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
        yield Contender(name, lambda: (calls if calls is not None else []).append(name), result)

    return Peer(name, (), prepare, "")


@pytest.mark.parametrize("prepacked", [False, True])
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("peer", [CHAINS.own, *CHAINS.peers.values()], ids=lambda peer: peer.name)
def test_the_peers_compute_what_the_reference_says(peer: Peer[ChainCase], softmax: bool, prepacked: bool) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    case = ChainCase(TINY, softmax, prepacked)
    for contender in peer.prepare(case, 1):
        contender.call()
        assert case.error(contender.result()) < 1e-5


def test_the_reference_is_softmax_of_the_scores_times_values() -> None:
    case = ChainCase(TINY, True)
    weights = ChainCase(TINY, True)
    a, b, d = (operand.astype(np.float64) for operand in weights.operands)
    powers = np.exp(np.einsum("bmk,bkl->bml", a, b))
    expected = np.einsum("bml,bln->bmn", powers / powers.sum(-1, keepdims=True), d)
    np.testing.assert_allclose(case.reference, expected, rtol=1e-12)


def test_nan_and_wrong_shapes_are_infinitely_wrong() -> None:
    case = ChainCase(TINY, False)
    assert case.error(np.full(case.reference.shape, np.nan)) == float("inf")
    assert case.error(case.reference[:1]) == float("inf")


def test_wrong_contenders_are_checked_out_before_anything_is_timed() -> None:
    case, calls = ChainCase(TINY, False), list[str]()
    right, wrong = fixed("right", lambda: case.reference), fixed("wrong", lambda: case.reference * 1.01, calls)
    result = measured(case, [right, wrong], rounds=2)
    assert result.timing("right").seconds > 0
    assert result.timing("wrong").seconds is None
    assert result.timing("wrong").error == pytest.approx(0.01)
    assert calls == ["wrong"]


def test_a_peer_that_fails_takes_no_part_and_says_why() -> None:
    def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
        raise RuntimeError("not on this CPU\nmore")

    result = measured(ChainCase(TINY, False), [Peer("sick", (), prepare, "")])
    assert result.timings == (Timing("sick", None, float("inf"), failure="RuntimeError: not on this CPU"),)


def test_our_own_failure_is_not_hidden() -> None:
    def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        measured(ChainCase(TINY, False), [Peer("tilewright", (), prepare, "", may_fail=False)])


def test_the_table_reads_as_it_always_did() -> None:
    text, expected = golden("bench_chains")
    assert text == expected


def test_wrong_results_of_ours_are_reported_and_have_no_ratio() -> None:
    report = Report(PROVENANCE, results())
    assert report.wrong() == ("G1",)
    assert [ratio(result) for result in report.results] == [1.6, 0.5, None, 2.0]
    assert [stock_ratio(result) for result in report.results] == [3.2, 0.5, None, None]


def test_the_document_holds_every_timing() -> None:
    document = Report(PROVENANCE, results()).as_document()
    assert document["provenance"]["commit"] == "abc123"
    assert document["results"][0]["timings"][1] == {
        "contender": "numpy",
        "seconds": 2e-3,
        "error": 1e-7,
        "share": 0.5,
        "read_share": 0.01,
        "to_own": 1.6,
        "failure": "",
    }
    assert document["results"][2]["timings"][2]["error"] is None


def test_several_processes_are_reported_by_medians() -> None:
    def report(seconds: float) -> Report:
        own = Timing("tilewright", seconds, 1e-7, share=seconds, read_share=seconds, to_own=1.0)
        return Report(PROVENANCE, (case_of("G1", PLAIN, own, Timing("numpy", 2.0, 1e-6, 0.5, 0.5, to_own=2.0 / seconds)),))

    together = combined([report(1.0), report(4.0), report(2.0)])
    assert together.provenance.processes == 3
    assert "medians over 3 fresh processes" in together.as_text()
    (result,) = together.results
    assert result.timing("tilewright") == Timing("tilewright", 2.0, 1e-7, 2.0, 2.0, 1.0)
    assert ratio(result) == 1.0


def test_wrong_in_one_process_is_wrong() -> None:
    right, wrong = (case_of("G1", PLAIN, Timing("numpy", seconds, error)) for seconds, error in ((1.0, 1e-7), (None, 0.5)))
    together = combined([Report(PROVENANCE, (result,)) for result in (right, wrong, right)])
    assert together.results[0].timings == (Timing("numpy", None, 0.5),)


def test_processes_measure_the_same_and_are_put_together(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = Benchmark("hand-made", CHAINS.own, {"numpy": CHAINS.peers["numpy"]})
    report = run.measured(benchmark, [ChainCase(TINY, False)], run.Settings(rounds=1, processes=2))
    assert report.provenance.processes == 2
    assert [timing.contender for timing in report.results[0].timings] == ["tilewright", "numpy"]


def test_names_are_known_and_in_any_case() -> None:
    context, parameter = click.Context(click.Command("x")), click.Option(["--cases"])
    assert _names(CHAIN_NAMES)(context, parameter, "g2, G10") == ("G2", "G10")
    assert _names(CHAIN_PEERS)(context, parameter, None) is None
    with pytest.raises(click.BadParameter, match="mkl: choose from numpy, torch"):
        _names(CHAIN_PEERS)(context, parameter, "mkl")


@pytest.mark.parametrize("file", ["/nonexistent/x.json", "/"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright.cli.bench.command.measured_chains", None)
    assert main(["bench", "chains", "--json", file]) == 2
    assert file in capsys.readouterr().err


def test_plain_cases_come_first_and_of_each_kind_those_that_may_change() -> None:
    cases = chain_cases(("G1", "G2"), "both", (False, True))
    plain = [("G1", False, False), ("G2", False, False), ("G1", False, True), ("G2", False, True)]
    assert [(case.name, case.softmax, case.prepacked) for case in cases] == [
        *plain,
        *((name, True, prepacked) for name, _, prepacked in plain),
    ]


def test_a_peer_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.cli.bench.contender.installed", lambda package: None)
    with pytest.raises(TilewrightError, match="openvino cannot be measured") as caught:
        CHAINS.chosen_peers(("openvino",))
    assert "pip install tilewright[bench]" in str(caught.value)
    assert CHAINS.chosen_peers(None) == ()


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


def test_a_directory_outside_a_checkout_has_no_commit(tmp_path: Path) -> None:
    assert commit(tmp_path) == ""


def test_the_command_prints_a_document_that_can_be_piped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright.cli.bench.command.restart_if_unfair", lambda threads: None)
    command = "bench chains --cases G10 --plain --not-prepacked --peers numpy --repeats 1 --json -"
    assert main(command.split()) == 0
    captured = capsys.readouterr()
    (result,) = json.loads(captured.out)["results"]
    assert [timing["contender"] for timing in result["timings"]] == ["tilewright", "numpy"]
    assert all(timing["seconds"] > 0 for timing in result["timings"])
    assert "chains [1/1] G10 (plain chains): " in captured.err


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_checkout_is_named_by_its_commit_and_whether_it_was_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    file = tmp_path / "file"
    file.write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    head = git("rev-parse", "--short=12", "HEAD").strip()
    assert commit(tmp_path) == head
    file.write_text("two")
    assert commit(tmp_path) == f"{head}+changes"
