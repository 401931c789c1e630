"""A thousand random ONNX graphs: `pytest -m sweep -s tests/sweeps/test_random_onnx_graphs.py`; the summary is printed.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT graphs.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_random_onnx_graphs() -> None:
    told = run_module("tests.support.random.onnx", seeds(1000))
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told
