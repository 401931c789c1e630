"""Random graphs through the whole pipeline, against the same function on float64 arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.support.random.graphs import random_function, random_inputs

FORCED = (None, True, False)


def check(seed: int) -> None:
    """Relative to the largest value: at most seven operators of up to 69 terms each, so 3e-4 is far above float32's rounding."""
    inputs = random_inputs(seed)
    expected = random_function(seed)(*(x.astype("f8") for x in inputs))
    kernel = tw.jit(random_function(seed), fuse=FORCED[seed % 3], threads=1 + seed % 3, target="x86-64-v3")
    for result, wanted in zip(kernel(*inputs), expected, strict=True):
        assert result.shape == wanted.shape
        assert np.abs(result - wanted).max() <= 3e-4 * (np.abs(wanted).max() + 1e-6), f"seed {seed}"


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", range(16))
def test_a_few_random_graphs(seed: int) -> None:
    check(seed)
