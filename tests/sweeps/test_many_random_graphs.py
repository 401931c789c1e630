"""A thousand random graphs: `pytest -m sweep tests/sweeps/test_many_random_graphs.py`."""

from __future__ import annotations

import pytest

from tests.api.test_random_graphs import check


@pytest.mark.sweep
@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_one_of_many_random_graphs(seed: int) -> None:
    check(seed)
