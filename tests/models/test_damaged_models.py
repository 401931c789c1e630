"""Damaged models: a clear error or a right result each, in bounded memory and time. The sweep tries 2,000."""

from __future__ import annotations

import subprocess
import sys

import pytest


def tried(start: int, stop: int) -> list[str]:
    """The outcome of every file of the range, in a process with limits."""
    command = [sys.executable, "-m", "tests.support.mutated_models", str(start), str(stop)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    assert run.returncode == 0, f"file {lines[-1] if lines else start}: exit status {run.returncode}\n{run.stderr[-2000:]}"
    return [line.partition(" ")[2] for line in lines]


@pytest.mark.ci
def test_a_few_damaged_models():
    assert len(tried(0, 24)) == 24
