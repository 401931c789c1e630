"""2,000 damaged models: a clear error or a right result each, in bounded memory and time."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

BATCH = 100


def tried(start: int, stop: int) -> list[str]:
    """The outcome of every file of the range, in a process with limits."""
    command = [sys.executable, "-m", "tests.support.mutated_models", str(start), str(stop)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    assert run.returncode == 0, f"file {lines[-1] if lines else start}: exit status {run.returncode}\n{run.stderr[-2000:]}"
    return [line.partition(" ")[2] for line in lines]


@pytest.mark.sweep
@pytest.mark.parametrize("start", range(0, 2000, BATCH))
def test_damaged_models(start):
    outcomes = tried(start, start + BATCH)
    assert len(outcomes) == BATCH
    print(Counter(text.partition(":")[0] for text in outcomes))


def test_a_few_damaged_models():
    assert len(tried(0, 24)) == 24
