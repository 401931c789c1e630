from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.cases.gemm_shapes import GemmShape
from tilewright_bench.measurement import worker
from tilewright_bench.measurement.contender import Contender, Peer

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
