"""A thousand random programs of PyTorch: `pytest -m sweep -s tests/sweeps/test_random_torch_programs.py`."""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds

pytest.importorskip("torch")


@pytest.mark.sweep
def test_many_programs() -> None:
    printed = run_module("tests.support.random.torch", seeds(1000))
    print(printed)
    assert " 0 wrong, 0 internal error, 0 crashed" in printed
