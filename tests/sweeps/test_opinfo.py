"""Five hundred of PyTorch's samples of its operators: `pytest -m sweep -s tests/sweeps/test_opinfo.py`; the summary is printed.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT samples. About a third of them are skipped:
the exporters refuse them, or onnxruntime does.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds

pytest.importorskip("expecttest")


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_samples_of_torch_operators() -> None:
    told = run_module("tests.support.opinfo", seeds(750))
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_samples_of_convolutions_and_pools() -> None:
    """Of all operators these are few, so that seeds of others are left out."""
    told = run_module("tests.support.opinfo", seeds(8000), "--only", r"functional\.(conv|(max|avg)_pool)")
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told
