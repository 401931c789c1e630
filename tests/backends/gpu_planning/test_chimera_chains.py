"""Fused or apart for all of Chimera's chains on both GPUs, as a snapshot: `python -m tests.golden.regenerate` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import gpu_chains_golden
from tests.golden.gpu_chains_golden import NAME, TARGETS, lines_of

SNAPSHOT = Path(gpu_chains_golden.__file__).with_name(NAME)


@pytest.mark.parametrize("target", TARGETS)
def test_snapshot(target: str) -> None:
    kept = [line for line in SNAPSHOT.read_text().splitlines() if line.startswith(target)]
    assert list(lines_of(target)) == kept


@pytest.mark.parametrize("target", TARGETS)
def test_chains_whose_second_filter_reads_neighbours_are_priced(target: str) -> None:
    lines = {line.split(maxsplit=2)[1]: line for line in SNAPSHOT.read_text().splitlines() if line.startswith(target)}
    assert "gain" in lines["C6"]
    assert len(lines) == 20
