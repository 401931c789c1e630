"""Tuning on a Dask cluster of two local workers: one is killed, the scheduler goes away; nothing is lost or counted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from tests.support.tuning import tune
from tilewright.errors import TilewrightError
from tilewright.machine.machine import Machine
from tilewright.runtime.tuning.database import TuningDatabase, machine_key
from tilewright.tune.pipeline import executors as cluster_module
from tilewright.tune.pipeline import trials
from tilewright.tune.pipeline.executors import Cluster, Here, SchedulerLost
from tilewright.tune.pipeline.tuning import Request
from tilewright.tune.schedules.cases import Case, product

CASE = Case("product", product, ((96, 64), (64, 80)))
ROOT = Path(__file__).parents[3]
START_S = 120.0


class LocalCluster:
    """A scheduler and two workers, as processes that a test may kill."""

    def __init__(self, directory: Path) -> None:
        cache = directory / "workers"
        cache.mkdir(mode=0o700, exist_ok=True)
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        self._environment = {**os.environ, "PYTHONPATH": paths, "TILEWRIGHT_CACHE_DIR": str(cache), "TILEWRIGHT_CALIBRATE": "0"}
        told = directory / "scheduler.json"
        self.scheduler = self._started("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
        deadline = time.monotonic() + START_S
        while not (told.exists() and told.read_text().endswith("}")) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.address = json.loads(told.read_text())["address"]
        self.workers = [
            self._started("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(2)
        ]

    def _started(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--host", "127.0.0.1"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=self._environment, stdout=quiet, stderr=quiet, cwd=ROOT)

    def client(self) -> Cluster:
        """A client, once all workers that live are there."""
        client, deadline = Cluster(self.address), time.monotonic() + START_S
        alive = sum(worker.poll() is None for worker in self.workers)
        while len(client._workers()) < alive and time.monotonic() < deadline:
            time.sleep(0.05)
        return client

    def kill(self) -> None:
        """All of it."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def clusters() -> Iterator[list[LocalCluster]]:
    """Those that were started."""
    started: list[LocalCluster] = []
    yield started
    for cluster in started:
        cluster.kill()


@pytest.fixture
def local(clusters: list[LocalCluster], tmp_path: Path) -> LocalCluster:
    """The one that is there, if its scheduler lives; processes take longer to start than what is measured."""
    if not clusters or clusters[-1].scheduler.poll() is not None:
        clusters.append(LocalCluster(tmp_path))
    return clusters[-1]


class HereAs(Here):
    """This process as the machine that the workers are on."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def machines(self) -> list[Machine]:
        return [self._machine]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningDatabase:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    return TuningDatabase(cache / "tuning.sqlite")


def test_a_worker_is_killed_while_it_measures_and_nothing_is_lost_or_counted_twice(local, database, monkeypatch):
    monkeypatch.setattr(trials, "BATCH", 4)
    killed = []
    with local.client() as client:
        (machine,) = client.machines()
        processes = client._client.run(os.getpid)

        def progress(chain: str) -> trials.Progress:
            def kill(done: int, total: int) -> None:
                if done and not killed:
                    killed.extend(address for address, tasks in client._client.processing().items() if tasks)
                    os.kill(processes[killed[0]], signal.SIGKILL)

            return kill

        (result,) = tune(CASE, database, Request(trials=11), progress, client)
        assert len(client.alive(machine_key(machine))) == 1
    assert killed
    rows = database.measurements()
    assert result.measured == len(rows) == 12
    assert set(Counter(row.plan for row in rows).values()) == {1}
    assert {row.machine for row in rows} == {machine_key(machine)} == {result.machine}


def test_a_scheduler_that_goes_away_is_a_clear_end_from_which_the_same_command_goes_on(local, database, monkeypatch):
    monkeypatch.setattr(trials, "BATCH", 4)

    def progress(chain: str) -> trials.Progress:
        def kill(done: int, total: int) -> None:
            if done == 4:
                local.scheduler.kill()

        return kill

    with local.client() as client:
        (machine,) = client.machines()
        with pytest.raises(SchedulerLost, match="the scheduler has gone away") as ended:
            tune(CASE, database, Request(trials=11), progress, client)
    assert "goes on where it was" in ended.value.hint
    kept = database.measurements()
    assert 4 <= len(kept) < 12
    tune(CASE, database, Request(trials=11), executor=HereAs(machine))
    assert database.measurements()[: len(kept)] == kept
    assert len(database.measurements()) == 12


def test_no_scheduler_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_S", 0.5)
    with pytest.raises(TilewrightError, match="no scheduler answers") as refused:
        Cluster("tcp://127.0.0.1:9")
    assert "dask scheduler" in refused.value.hint


def test_without_distributed_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TilewrightError, match="needs the package distributed"):
        Cluster("tcp://127.0.0.1:9")


def test_workers_of_another_release_are_refused(monkeypatch):
    client = object.__new__(Cluster)
    client._client = SimpleNamespace(status="running", nthreads=lambda: {"tcp://there": 1})
    client._known = {"tcp://there": (None, "0.0.0")}
    with pytest.raises(TilewrightError, match=r"release 0\.0\.0"):
        client._workers()
