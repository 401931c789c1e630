"""Thousands of random ONNX graphs, of models and of what follows them; the summaries are printed.

    pytest -m sweep -s tests/sweeps/test_random_onnx_graphs.py

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


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_random_ends_of_models() -> None:
    """Boxes, suppression and masks behind detectors; penalties, masks and choices behind language models."""
    told = run_module("tests.support.random.onnx", seeds(2000), "--ends", "--nodes", "30")
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told
