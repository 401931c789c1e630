"""Many random products of integers and short floats."""

from __future__ import annotations

import pytest

from tests.codegen.test_random_products import check


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_random_products(seed: int) -> None:
    check(seed, "x86-64-v2")
