"""Five thousand random convolutions, beside onnxruntime and NumPy: `pytest -m sweep -s tests/sweeps/test_random_convolutions.py`.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT programs.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_random_convolutions() -> None:
    told = run_module("tests.support.random.convolutions", seeds(5000))
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told
