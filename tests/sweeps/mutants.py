"""How many mutants of the package the tests notice: lines changed by seed, each against the tests that reach the line.

    python -m tests.sweeps.mutants --collect REACHED                          # once for a commit: which tests reach which lines
    python -m tests.sweeps.mutants --reached REACHED --seed 1 --count 100 --out mutants.json
    python -m tests.sweeps.mutants --reached OTHER --mutants mutants.json --out other.json    # the same mutants in another commit

A mutant is a place in one line (`tests/mutants/drawing.py`). It is put into a copy of the tree, where tests that reach the line
run, those first that noticed a mutant before (also in `--first-results`), then the cheapest of every file, until one fails or the
time is over. Tests that reach only the file come last: a line may run at import, or once for all tests since a result is cached.

A mutant is killed if a test fails, if Python crashes, or if a test hangs. It survives if all tests pass, if the time is over, or
if no test reaches its file. A failure counts only if the test passes without the mutant. No kernel and no plan is kept from one
mutant to the next. Not seen is what runs in child processes of tests: it counts as not reached unless other tests reach it.

A seed draws among all places of a tree, so that it draws others when the source has changed. Two commits are compared by
`--mutants`; lines that are gone are counted apart. What `--out` has is not tried again: a run that was ended goes on. A machine
that does other work needs a larger `--budget-s`. The package `coverage` is needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from tests.mutants.drawing import PACKAGE, Mutant, candidates, draw, found_in
from tests.mutants.reached import Reached
from tests.mutants.trying import NOTICED, ROOT, Copy, copied, environment, in_order

GONE, NOT_REACHED = "gone", "not reached"
BUDGET_S = 180.0


@dataclass(frozen=True)
class Tried:
    """A mutant, and what became of it: a status of `Outcome`, "not reached", or "gone" where the tree has no such line."""

    mutant: Mutant
    status: str
    test: str = ""
    seconds: float = 0.0
    reached: tuple[int, int] = (0, 0)
    """Numbers of tests: that reach its line, and that reach its file otherwise."""


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT, help="what is mutated: a checkout; default: this one")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once, or workers of --collect; default: %(default)s")
    parser.add_argument("--collect", type=Path, metavar="DIRECTORY", help="store which lines the tests of the tree reach")
    parser.add_argument("--reached", type=Path, metavar="DIRECTORY", help="what --collect has stored")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=0)
    parser.add_argument("--count", type=int, default=100, help="mutants to draw; default: %(default)s")
    parser.add_argument("--only", default="", metavar="PREFIX", help="draw among files whose path in the package begins so")
    parser.add_argument("--mutants", type=Path, metavar="FILE", help="mutants of these results, instead of drawn ones")
    parser.add_argument("--first-results", type=Path, metavar="FILE", help="results whose tests are tried first")
    parser.add_argument("--budget-s", type=float, default=BUDGET_S, help="for each mutant; default: %(default)s")
    parser.add_argument("--out", type=Path, metavar="FILE", help="results, written after every mutant")
    chosen = parser.parse_args()
    if chosen.collect:
        sys.exit(collect(chosen.tree, chosen.collect, chosen.jobs))
    if not chosen.reached or not chosen.out:
        parser.error("--reached and --out are needed")
    there = candidates(chosen.tree)
    drawn = draw([one for one in there if one.path.startswith(f"{PACKAGE}/{chosen.only}")], chosen.seed, chosen.count)
    wanted = [one.mutant for one in read(chosen.mutants)] if chosen.mutants else drawn
    tried = read(chosen.out) if chosen.out.exists() else []
    known = {one.mutant for one in tried}
    killers = {one.test for one in (*tried, *(read(chosen.first_results) if chosen.first_results else ())) if one.test}
    session = Session(Reached(chosen.reached), killers, chosen.budget_s)
    for one in session.try_all(chosen.tree, [(one, found_in(there, one)) for one in wanted if one not in known], chosen.jobs):
        tried.append(one)
        write(chosen.out, tried)
        print(f"{one.status}: {one.mutant.path}:{one.mutant.line} {one.test} {one.seconds:.0f} s", flush=True)
    report([one for one in tried if one.mutant in set(wanted)])


@dataclass(frozen=True)
class Session:
    """What mutants are tried with."""

    reached: Reached
    killers: set[str]
    """Tests that noticed a mutant: tried first."""
    budget_s: float

    def try_all(self, tree: Path, mutants: Sequence[tuple[Mutant, Mutant | None]], jobs: int) -> Iterable[Tried]:
        """Mutants with where they are in the tree, several at once, in copies that are removed."""
        with TemporaryDirectory(prefix="tilewright-mutants-") as directory, ThreadPoolExecutor(jobs) as pool:
            copies: SimpleQueue[Copy] = SimpleQueue()
            for number in range(jobs):
                copies.put(copied(tree, Path(directory, str(number))))
            self._check(copies)
            yield from pool.map(lambda pair: self.tried(*pair, copies), mutants)

    def _check(self, copies: SimpleQueue[Copy]) -> None:
        """Where no test can run, every mutant would be killed."""
        copy, cheapest = copies.get(), min(self.reached.seconds, key=self.reached.seconds.__getitem__)
        if not copy.passes(cheapest):
            sys.exit(f"{cheapest} does not pass in a copy of the tree, as it did where the tests that reach lines were collected")
        copies.put(copy)

    def tried(self, mutant: Mutant, here: Mutant | None, copies: SimpleQueue[Copy]) -> Tried:
        """One, in a copy that nobody uses."""
        if here is None:
            return Tried(mutant, GONE)
        line, file = self.reached.of(here)
        counts = len(line), len(file)
        if not line and not file:
            return Tried(mutant, NOT_REACHED)
        began = time.monotonic()
        copy = copies.get()
        try:
            tests = in_order(line, file, self.reached.seconds, frozenset(self.killers))
            outcome = copy.outcome(here, tests, self.reached.seconds, self.budget_s)
        finally:
            copies.put(copy)
        if outcome.status in NOTICED and outcome.test:
            self.killers.add(outcome.test)
        return Tried(mutant, outcome.status, outcome.test, round(time.monotonic() - began, 1), counts)


def collect(tree: Path, directory: Path, jobs: int) -> int:
    """Run all tests of a tree, which goes on where it was ended; pytest's exit status."""
    plugin = ["-p", "tests.mutants.coverage_plugin", f"--reached={directory.resolve()}"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), *plugin]
    return subprocess.run(command, cwd=tree, env=environment(tree), check=False).returncode


def report(tried: Sequence[Tried]) -> None:
    """Print the counts, and the survivors with what was changed."""
    for one in (one for one in tried if one.status not in (*NOTICED, GONE)):
        print(f"\n{one.mutant.path}:{one.mutant.line} {one.status}; tests that reach the line, the file: {one.reached}")
        print(f"- {one.mutant.before}\n+ {one.mutant.after}")
    counts = Counter(one.status for one in tried)
    killed, there = sum(counts[status] for status in NOTICED), len(tried) - counts[GONE]
    print(f"\n{killed} of {there} killed; " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))


def read(path: Path) -> list[Tried]:
    """Results."""
    return [_tried(one) for one in json.loads(path.read_text())]


def write(path: Path, tried: Sequence[Tried]) -> None:
    """Results, whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps([asdict(one) for one in tried], indent=1))
    new.replace(path)


def _tried(fields: Mapping[str, Any]) -> Tried:
    return Tried(**{**fields, "mutant": Mutant(**fields["mutant"]), "reached": tuple(fields["reached"])})


if __name__ == "__main__":
    main()
