"""A decoding loop over 4,096 steps: `pytest -m sweep -s tests/sweeps/test_decoding_loop.py` prints how many kernels it takes.

What a step costs beside a kernel for just its length is `python -m benchmarks.studies.lengths`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random

HEADS, WIDTH, STEPS = 8, 64, 4096
CHECKED = 256
"""Steps between comparisons with kernels of the very length."""


def attention(q: Any, k: Any, v: Any) -> Any:
    return tw.softmax(tw.einsum("hmk,hlk->hml", q, k) * 0.125, axis=-1) @ v


@pytest.mark.sweep
@pytest.mark.needs("avx2", "fma")
def test_every_step_of_a_decoding_loop() -> None:
    decode, static = tw.jit(attention, threads=1), tw.jit(attention, threads=1, dynamic=False)
    keys, values, q = random(HEADS, STEPS, WIDTH), random(HEADS, STEPS, WIDTH, seed=1), random(HEADS, 1, WIDTH, seed=2)
    out = np.empty_like(q)
    for step in range(1, STEPS + 1):
        k, v = keys[:, :step], values[:, :step]
        decode(q, k, v, out=out)
        if step % CHECKED == 0 or step < 8:
            np.testing.assert_allclose(out, static(q, k, v), rtol=1e-4, atol=1e-5)
    print(f"\n{len(decode.kernels)} kernels")
    assert len(decode.kernels) <= 3
