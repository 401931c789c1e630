"""pytest plugin: runs the tests that a file names, in its order, and logs each when it begins and when it fails.

python -m pytest -x -p tests.mutants.selection_plugin --in-order NAMES.json --log LOG.jsonl FILES...
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--in-order", type=Path, required=True, metavar="FILE", help="a JSON list of the tests to run")
    parser.addoption("--log", type=Path, required=True, metavar="FILE", help="where to say what begins and what fails")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Selected(config.getoption("--in-order"), config.getoption("--log")))


class _Selected:
    def __init__(self, names: Path, log: Path) -> None:
        self._place = {name: number for number, name in enumerate(json.loads(names.read_text()))}
        self._log = log.open("a", buffering=1)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self._place), key=lambda one: self._place[one.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write("begins", nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._write("fails", report.nodeid)

    def _write(self, what: str, test: str) -> None:
        self._log.write(json.dumps({"what": what, "test": test, "time": time.time()}) + "\n")
