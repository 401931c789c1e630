"""100,000 shapes through one function, and more kernels than are kept.

`pytest -m sweep -s tests/sweeps/test_very_many_shapes.py` prints resident memory and mappings as they develop.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.api import jit

SIDE = 317
"""Its square is just beyond 100,000."""
KERNELS = 400


def sizes() -> tuple[float, int]:
    """(MiB resident, mappings) of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.sweep
def test_100_000_shapes_that_share_kernels() -> None:
    function = tw.jit(lambda x, y: x * 2 + y, threads=1)
    grid, line = np.ones((SIDE, SIDE), np.float32), np.ones(SIDE, np.float32)
    found = []
    for rows in range(1, SIDE + 1):
        for columns in range(1, SIDE + 1):
            result = function(grid[:rows, :columns], line[:columns])
            assert result.shape == (rows, columns)
            assert result[-1, -1] == 3
        found.append(sizes())
    print(f"\n{len(function.kernels)} kernels; MiB and mappings:", *(f"{mib:.0f}/{maps}" for mib, maps in found[::32]))
    (early_mib, early_mappings), (late_mib, late_mappings) = found[SIDE // 3], found[-1]
    assert late_mib < early_mib + 16
    assert late_mappings < early_mappings + 64


@pytest.mark.sweep
def test_more_kernels_than_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a limit of an eighth of the kernels: memory and mappings are flat after that many."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "2M")
    monkeypatch.setattr(jit, "MOST_KERNELS", KERNELS // 8)
    function = tw.jit(lambda x: tw.tanh(x) + 1, threads=1, dynamic=False)
    found = []
    for count in range(1, KERNELS + 1):
        np.testing.assert_allclose(function(np.zeros(count, np.float32)), np.ones(count))
        found.append(sizes())
    print("\nMiB and mappings:", *(f"{mib:.0f}/{maps}" for mib, maps in found[:: KERNELS // 10]))
    (early_mib, early_mappings), (late_mib, late_mappings) = found[KERNELS // 4], found[-1]
    assert late_mib < early_mib + 8
    assert late_mappings < early_mappings + 16
    assert sum(path.stat().st_size for path in (tmp_path / "cache").iterdir()) < 3 << 20
