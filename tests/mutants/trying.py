"""Whether tests notice a mutant: it is put into a copy of the tree, and tests run there until one fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.drawing import Mutant, mutated

ROOT = Path(__file__).parents[2]
BATCHES = (10, 60, 400)
"""Tests of the first processes, and one has the rest: collecting those of many files takes longer than most first failures."""
HANG_S, HANG_FACTOR = 60.0, 10
"""A test that takes longer than both, the factor times as long as in the unchanged tree, hangs."""
COLLECTING_S = 100.0
"""So does a process whose first test begins later."""
NOTICED = ("failed", "crashed", "hung")


@dataclass(frozen=True)
class Outcome:
    """`status`: failed, crashed, hung (the mutant was noticed); passed, too long (it was not)."""

    status: str
    test: str = ""
    """That noticed it; none where modules cannot be imported any more."""


@dataclass
class Copy:
    """A copy of a tree, whose mutant is gone when it was tried. Nothing that was kept hides it: caches begin empty."""

    tree: Path
    scratch: Path
    passing: set[str] = field(default_factory=set)
    """Tests known to pass without a mutant, run as they are run here."""

    def outcome(self, mutant: Mutant, tests: Sequence[str], seconds: Mapping[str, float], budget_s: float) -> Outcome:
        """Of a mutant. A test that fails without it, too, does not count."""
        end = time.monotonic() + budget_s
        left = [test for test in tests if (self.tree / _file(test)).exists()]
        while left:
            with self._with(mutant):
                found = self._first_outcome(left, seconds, end)
            if found.status not in NOTICED or not found.test or self.passes(found.test):
                return found
            left.remove(found.test)
        return Outcome("passed")

    def _first_outcome(self, tests: Sequence[str], seconds: Mapping[str, float], end: float) -> Outcome:
        for batch in batches(tests):
            found = self._run(batch, seconds, end - time.monotonic())
            if found.status != "passed":
                return found
        return Outcome("passed")

    def passes(self, test: str) -> bool:
        """Whether a test passes without a mutant, alone."""
        if test not in self.passing and self._run([test], {}, 600.0).status == "passed":
            self.passing.add(test)
        return test in self.passing

    def _with(self, mutant: Mutant) -> _Changed:
        path = self.tree / mutant.path
        return _Changed(path, path.read_text(), mutated(path.read_text(), mutant))

    def _run(self, tests: Sequence[str], seconds: Mapping[str, float], budget_s: float) -> Outcome:
        if budget_s <= 0:
            return Outcome("too long")
        with TemporaryDirectory(dir=self.scratch) as directory:
            names, log = Path(directory, "names.json"), Path(directory, "log.jsonl")
            names.write_text(json.dumps(tests))
            status = _ended(self._command(tests, names, log, Path(directory)), self.tree, Path(directory), budget_s)
            return outcome_of(status, _logged(log), seconds, budget_s)

    def _command(self, tests: Sequence[str], names: Path, log: Path, directory: Path) -> list[str]:
        files = dict.fromkeys(_file(test) for test in tests)
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", f"--basetemp={directory / 'tests'}"]
        plugin = ["-p", "tests.mutants.selection_plugin", f"--in-order={names}", f"--log={log}"]
        return [sys.executable, "-m", "pytest", *options, *plugin, *files]


@dataclass
class _Changed:
    """A file with another text as long as the context lasts; no byte code of the one is taken for the other's."""

    path: Path
    before: str
    after: str

    def __enter__(self) -> None:
        self._write(self.after)

    def __exit__(self, *_: object) -> None:
        self._write(self.before)

    def _write(self, text: str) -> None:
        self.path.write_text(text)
        for code in (self.path.parent / "__pycache__").glob(f"{self.path.stem}.*.pyc"):
            code.unlink()


def copied(tree: Path, directory: Path) -> Copy:
    """A copy of the files that git does not ignore; what a mutant leaves behind stays in `directory`."""
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (tree / name).is_file():
            (directory / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, directory / "tree" / name)
    (directory / "scratch").mkdir()
    return Copy(directory / "tree", directory / "scratch")


def environment(tree: Path) -> dict[str, str]:
    """Of processes that test a tree, and of their children: no knob of this process, and of its tree only the plugins."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TILEWRIGHT_", "PYTEST_"))}
    paths = [*(str(tree.resolve() / name) for name in ("src", "bench/src", ".")), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "TILEWRIGHT_CALIBRATE": "0"}


def in_order(
    line: Collection[str], file: Collection[str], seconds: Mapping[str, float], killers: Collection[str] = ()
) -> list[str]:
    """What to try: those that noticed mutants before, then tests that reach the line, then those that reach the file.

    Of each, the cheapest test of every file comes before the second of any: tests of a file notice the same.
    """
    return [
        *_in_turns([one for one in (*line, *file) if one in killers], seconds),
        *_in_turns([one for one in line if one not in killers], seconds),
        *_in_turns([one for one in file if one not in killers], seconds),
    ]


def batches(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """The tests of each process, file by file: fixtures of a module are made once."""
    for first, last in pairwise([*accumulate(BATCHES, initial=0), len(tests)]):
        chosen = tests[first:last]
        files = list(dict.fromkeys(_file(test) for test in chosen))
        if chosen:
            yield sorted(chosen, key=lambda test: files.index(_file(test)))


def _in_turns(tests: Collection[str], seconds: Mapping[str, float]) -> list[str]:
    turns: dict[str, int] = defaultdict(int)
    keys = {}
    for test in sorted(tests, key=lambda one: (seconds.get(one, 0.0), one)):
        keys[test] = turns[_file(test)]
        turns[_file(test)] += 1
    return sorted(keys, key=lambda one: (keys[one], seconds.get(one, 0.0), one))


def _file(test: str) -> str:
    return test.split("::")[0]


def _ended(command: Sequence[str], tree: Path, directory: Path, budget_s: float) -> int | None:
    """The exit status of a process, or None where it was ended, with all of its children."""
    own = environment(tree) | {"TILEWRIGHT_CACHE_DIR": str(directory / "cache")}
    process = subprocess.Popen(
        command, cwd=tree, env=own, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        return process.wait(budget_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _logged(log: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def outcome_of(status: int | None, log: Sequence[Mapping[str, str]], seconds: Mapping[str, float], budget_s: float) -> Outcome:
    """What pytest's exit status (None: it was ended) and the log of `selection_plugin` mean.

    0: all passed; 5: no such test is there; 1: one failed; others: Python crashed, or modules could not be imported.
    """
    last = str(log[-1]["test"]) if log else ""
    if status is None:
        return Outcome("hung" if _hangs(log, seconds, budget_s) else "too long", last)
    if status in (0, 5):
        return Outcome("passed")
    return Outcome("failed" if status == 1 else "crashed", last)


def _hangs(log: Sequence[Mapping[str, str]], seconds: Mapping[str, float], budget_s: float) -> bool:
    if not log:
        return budget_s > COLLECTING_S
    return time.time() - float(log[-1]["time"]) > max(HANG_S, HANG_FACTOR * seconds.get(log[-1]["test"], 0.0))
