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


def ratio(one: Any, other: Any, *arrays: np.ndarray, out: np.ndarray) -> float:
    """The time of one function over that of another, called in turns: the median over pairs."""
    samples = []
    for _ in range(31):
        seconds = []
        for function in (one, other):
            start = time.perf_counter()
            function(*arrays, out=out)
            seconds.append(time.perf_counter() - start)
        samples.append(seconds[0] / seconds[1])
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
            ratios[step] = ratio(decode, static, q, k, v, out=out)
    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        decode(q, keys[:, :step], values[:, :step], out=out)
    loop_us = (time.perf_counter() - start) / STEPS * 1e6
    text = ", ".join(f"{step} {found:.2f}" for step, found in ratios.items())
    print(f"\n{len(decode.kernels)} kernels; {loop_us:.1f} us a step; time over that of a kernel for the length: {text}")
    print(f"median {median(ratios.values()):.3f}")
    assert len(decode.kernels) <= 8
