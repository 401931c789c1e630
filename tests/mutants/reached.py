"""Which tests reach a mutant: what `coverage_plugin` has stored, read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.mutants.drawing import Mutant

TESTS, LINES = "tests.*.jsonl", "lines.*"


@dataclass(frozen=True)
class Result:
    """Of a test in the unchanged tree."""

    seconds: float
    passes: bool


def results(directory: Path) -> dict[str, Result]:
    """Of all tests by name."""
    lines = (line for path in sorted(directory.glob(TESTS)) for line in path.read_text().splitlines())
    records = map(json.loads, lines)
    return {one["test"]: Result(one["seconds"], one["passes"]) for one in records}


class Reached:
    """The tests that pass and reach a place."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.seconds: Mapping[str, float] = {name: one.seconds for name, one in results(directory).items() if one.passes}
        self._lines_of = lru_cache(maxsize=8)(self._read)  # of files: those of `plan` are reached by thousands of tests

    def of(self, mutant: Mutant) -> tuple[frozenset[str], frozenset[str]]:
        """Those that reach its line, and the others that reach its file.

        The others count, too: a line that runs when its module is imported, or once for all tests since its function is cached,
        shows in results of tests that do not run it. A first line of a statement stands for its others.
        """
        lines = self._lines_of(mutant.path)
        here = range(mutant.first_line, mutant.line + 1) if mutant.is_in_function else ()
        line = frozenset(test for number in here for test in lines.get(number, ()))
        return line, frozenset(test for tests in lines.values() for test in tests) - line

    def _read(self, path: str) -> Mapping[int, frozenset[str]]:
        from coverage import CoverageData

        found: dict[int, set[str]] = defaultdict(set)
        for file in sorted(self._directory.glob(LINES)):
            data = CoverageData(basename=str(file))
            data.read()
            for measured in (one for one in data.measured_files() if one.endswith(f"/{path}")):
                for line, contexts in data.contexts_by_lineno(measured).items():
                    found[line].update(contexts)
        return {line: frozenset(tests & self.seconds.keys()) for line, tests in found.items()}
