from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tilewright.cli.bench import mkl_avx512, worker
from tilewright.cli.bench.cases import GemmCase, aligned
from tilewright.cli.bench.contender import Contender, Peer
from tilewright.cli.bench.gemm import GEMMS
from tilewright.cli.bench.peers import torch
from tilewright.cli.shapes import GemmShape

VARIABLE = "TILEWRIGHT_TEST_WORKER"
CASE = GemmCase(GemmShape(2, 3, 4))


def product(case: GemmCase, threads: int) -> Iterator[Contender]:
    """A right one, called by what the environment says."""
    a, b = case.operands
    out = aligned(case.result_shape)

    def call() -> None:
        out[:] = a @ b

    yield Contender(f"{os.environ.get(VARIABLE)} on {threads}", call, lambda: out, 2)


def sick(case: GemmCase, threads: int) -> Iterator[Contender]:
    """Fails after its first contender."""
    yield from product(case, threads)
    raise ValueError("no such CPU")


@pytest.fixture
def started() -> Iterator[worker.Worker]:
    process = worker.start({VARIABLE: "elsewhere"})
    yield process
    process.stop()


def test_an_interrupt_is_left_to_the_process_that_started_it(started: worker.Worker) -> None:
    list(started.contenders(Peer("product", (), product, ""), CASE, 1, str))  # it listens by now
    os.kill(started.process.pid, signal.SIGINT)
    (contender,) = started.contenders(Peer("product", (), product, ""), CASE, 3, str)
    assert contender.name == "elsewhere on 3"


def test_contenders_work_in_another_process_on_the_same_data(started: worker.Worker) -> None:
    (contender,) = started.contenders(Peer("product", (), product, ""), CASE, 3, "({})".format)
    assert contender.name == "(elsewhere on 3)"
    assert contender.executions == 2
    assert VARIABLE not in os.environ
    contender.call()
    assert CASE.error(contender.result()) < 1e-5
    assert contender.seconds() > 0


def test_what_goes_wrong_there_is_raised_here_and_the_worker_goes_on(started: worker.Worker) -> None:
    with pytest.raises(RuntimeError, match="ValueError: no such CPU"):
        list(started.contenders(Peer("sick", (), sick, ""), CASE, 1, str))
    assert len(list(started.contenders(Peer("product", (), product, ""), CASE, 1, str))) == 1


def test_mkl_is_told_only_where_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mkl_avx512, "installed", lambda package: "2")
    monkeypatch.setattr(mkl_avx512.platform, "machine", lambda: "aarch64")
    assert not mkl_avx512.matters()
    monkeypatch.setattr(mkl_avx512, "matters", lambda: False)
    peer = mkl_avx512.peer(torch.PEER)
    assert not peer.matters()
    assert peer.missing() == torch.PEER.missing()


def test_peers_that_do_not_matter_are_measured_only_when_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.cli.bench.contender.installed", lambda package: "1")
    monkeypatch.setattr(mkl_avx512, "matters", lambda: True)
    names = [peer.name for peer in GEMMS.chosen_peers(None)]
    assert [peer.name for peer in GEMMS.chosen_peers((mkl_avx512.NAME,))] == [mkl_avx512.NAME]
    assert set(names) >= {"numpy", "torch", "onednn"}
