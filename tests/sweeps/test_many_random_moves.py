"""A thousand random graphs of moved elements: `pytest -m sweep tests/sweeps/test_many_random_moves.py`."""

from __future__ import annotations

import pytest

from tests.codegen.test_random_moves import check
from tests.support.guarded import in_child
from tests.support.sweeps import seeds


@pytest.mark.sweep
@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", seeds(1000))
def test_one_of_many_random_graphs(seed: int) -> None:
    in_child(check, seed)
