"""Sixty plans of GEMM chains in simulated caches beside the model: `pytest -m sweep -s tests/sweeps/test_cache_simulation.py`."""

from __future__ import annotations

import re

import pytest

from benchmarks.papers.validate_model import main


@pytest.mark.sweep
def test_movement_is_what_caches_see(capsys: pytest.CaptureFixture[str]) -> None:
    """The cases of Chimera's Figure 8 d to f, 20 tilings each."""
    main(["--count", "20", "--cache", "32x8"])
    printed = capsys.readouterr().out
    print(printed)
    figures = [float(found) for found in re.findall(r"R\^2 +([\d.]+)", printed)]
    assert len(figures) == 6
    assert min(figures) > 0.98
