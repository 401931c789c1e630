"""Working sets of the first variants of a problem's table: what rankers that learn see of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

from benchmarks.studies.tuned.problems import Problem
from benchmarks.studies.tuned.variants import models, table
from tilewright.runtime.tuning import plans as tuned_plans

AT_ONCE = 20


def compute(problem: Problem, count: int, path: Path, seed: int = 0) -> int:
    """Append those that the file lacks of the first `count`, with their processor seconds; how many those were."""
    known = read(path)
    with tuned_plans.ignored():
        entries = [one for one in table(models(problem.case), count, seed) if one.digest not in known]
    for begin in range(0, len(entries), AT_ONCE):
        lines = []
        for entry in entries[begin : begin + AT_ONCE]:
            start = time.process_time()
            features = entry.features()
            lines.append(json.dumps([entry.digest, features, time.process_time() - start]) + "\n")
        with path.open("a") as file:
            file.write("".join(lines))
    return len(entries)


def read(path: Path) -> dict[str, tuple[tuple[float, ...], float]]:
    """Features and the seconds that they took, by digest."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        digest, features, seconds = json.loads(line)
        found[digest] = (tuple(map(float, features)), seconds)
    return found
