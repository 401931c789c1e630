"""A decoding loop over 4,096 steps: `pytest -m sweep -s tests/sweeps/test_decoding_loop.py` prints kernels and times."""

from __future__ import annotations

import time
from statistics import median
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


def seconds(function: Any, *arrays: np.ndarray, out: np.ndarray) -> float:
    """Of one call, over a few milliseconds."""
    function(*arrays, out=out)
    samples = []
    for _ in range(15):
        start = time.perf_counter()
        function(*arrays, out=out)
        samples.append(time.perf_counter() - start)
    return median(samples)


@pytest.mark.sweep
@pytest.mark.needs("avx2", "fma")
def test_every_step_of_a_decoding_loop() -> None:
    decode, static = tw.jit(attention, threads=1), tw.jit(attention, threads=1, dynamic=False)
    keys, values, q = random(HEADS, STEPS, WIDTH), random(HEADS, STEPS, WIDTH, seed=1), random(HEADS, 1, WIDTH, seed=2)
    out, ratios = np.empty_like(q), {}
    for step in range(1, STEPS + 1):
        k, v = keys[:, :step], values[:, :step]
        decode(q, k, v, out=out)
        if step % CHECKED == 0 or step < 8:
            np.testing.assert_allclose(out, static(q, k, v), rtol=1e-4, atol=1e-5)
            ratios[step] = seconds(decode, q, k, v, out=out) / seconds(static, q, k, v, out=out)
    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        decode(q, keys[:, :step], values[:, :step], out=out)
    loop_us = (time.perf_counter() - start) / STEPS * 1e6
    found = ", ".join(f"{step} {ratio:.2f}" for step, ratio in ratios.items())
    print(f"\n{len(decode.kernels)} kernels; {loop_us:.1f} us a step; time over that of a kernel for the length: {found}")
    print(f"median {median(ratios.values()):.3f}")
    assert len(decode.kernels) <= 8
