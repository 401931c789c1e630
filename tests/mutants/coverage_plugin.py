"""pytest plugin: which lines of the package every test reaches, whether it passes, and the seconds that it takes.

    python -m pytest -n 2 -p tests.mutants.coverage_plugin --reached DIRECTORY

Every process writes `lines.NAME` (data of `coverage`, a context for every test) and `tests.NAME.jsonl` there. A run that was
ended goes on: tests of which a `tests.*.jsonl` knows are left out. Lines that child processes run are not seen, nor are those
that run while modules are imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.reached import TESTS, results


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reached", type=Path, required=True, metavar="DIRECTORY", help="where to store which lines tests reach")


def pytest_configure(config: pytest.Config) -> None:
    """The process that only hands tests out to workers runs none."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", default=None):
        config.pluginmanager.register(_Reached(config.getoption("--reached").resolve()))


class _Reached:
    """Writes at the end of every test."""

    def __init__(self, directory: Path) -> None:
        from coverage import Coverage  # tests are collected without it, too

        directory.mkdir(parents=True, exist_ok=True)
        name = f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-{os.getpid()}"
        self._known = frozenset(results(directory))
        self._results = (directory / TESTS.replace("*", name)).open("a", buffering=1)
        data_file = str(directory / f"lines.{name}")
        self._coverage = Coverage(data_file=data_file, include=["*/src/tilewright/*"], config_file=False)
        self._seconds, self._passes = 0.0, True

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid not in self._known]
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._seconds, self._passes = 0.0, True
        self._coverage.switch_context(item.nodeid)
        done = yield
        self._coverage.switch_context("")
        record = {"test": item.nodeid, "seconds": round(self._seconds, 4), "passes": self._passes}
        self._results.write(json.dumps(record) + "\n")
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        self._passes = self._passes and (report.passed or hasattr(report, "wasxfail"))

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._results.close()
