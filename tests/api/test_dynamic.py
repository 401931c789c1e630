"""Functions called with growing and varying lengths: few kernels, and each of them right. Planned for a named machine."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random

pytestmark = pytest.mark.needs("avx2", "fma")
jit = functools.partial(tw.jit, target="x86-64-v3", threads=1)

HEADS, WIDTH, LONGEST = 2, 16, 4096


def attention(q: Any, k: Any, v: Any) -> Any:
    return tw.softmax(tw.einsum("hmk,hlk->hml", q, k) * 0.25, axis=-1) @ v


def expected(q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("hmk,hlk->hml", q.astype(np.float64), k) * 0.25
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) if k.shape[1] else scores
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v if k.shape[1] else np.zeros((*q.shape[:2], v.shape[2]))


def close(actual: Any, exact: Any) -> None:
    np.testing.assert_allclose(np.asarray(actual), exact, rtol=2e-5, atol=2e-5)


def steps(count: int) -> list[int]:
    """Lengths of a decoding loop: the first ones, the ends of all buckets, and a sample."""
    ends = [4**power + more for power in range(7) for more in (-1, 0, 1)]
    sampled = np.random.default_rng(0).integers(1, LONGEST, count).tolist()
    return sorted({n for n in (*range(1, 20), *ends, *sampled, LONGEST) if 0 < n <= LONGEST})


def layouts(cache: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """The first n positions of a cache (h,l,k) as users hold them."""
    by_position = np.ascontiguousarray(cache.transpose(1, 0, 2)[:n])
    return {"slice": cache[:, :n], "contiguous": cache[:, :n].copy(), "transposed": by_position.transpose(1, 0, 2)}


def test_a_decoding_loop_compiles_eight_kernels_whatever_holds_the_cache() -> None:
    decode = jit(attention)
    keys, values = random(HEADS, LONGEST, WIDTH), random(HEADS, LONGEST, WIDTH, seed=1)
    kinds = list(layouts(keys, 1))
    for step, n in enumerate(steps(200)):
        q, kind = random(HEADS, 1, WIDTH, seed=n), kinds[step % len(kinds)]
        k, v = layouts(keys, n)[kind], layouts(values, n)[kind]
        close(decode(q, k, v), expected(q, k, v))
    assert len(decode.kernels) <= 8


def test_all_layouts_of_a_cache_have_one_kernel_and_one_result() -> None:
    decode = jit(attention, dynamic=True)
    keys, values, q = random(HEADS, 50, WIDTH), random(HEADS, 50, WIDTH, seed=1), random(HEADS, 1, WIDTH, seed=2)
    for n in (33, 47):
        k, v = layouts(keys, n), layouts(values, n)
        results = [decode(q, k[kind], v[kind]).tobytes() for kind in k]
        assert len(set(results)) == 1
    assert len(decode.kernels) == 1


@pytest.mark.unverified
def test_another_process_with_the_same_calls_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop() -> int:
        decode = jit(attention)
        for n in (3, 4, 9, 12, 40):
            close(decode(q, keys[:, :n], keys[:, :n]), expected(q, keys[:, :n], keys[:, :n]))
        return len(decode.kernels)

    keys, q = random(HEADS, 50, WIDTH), random(HEADS, 1, WIDTH, seed=2)
    assert loop() == 2
    monkeypatch.setattr("tilewright.compiler.plan", None)
    monkeypatch.setattr("subprocess.run", None)
    assert loop() == 2


def test_batch_and_length_vary_together() -> None:
    function = jit(attention)
    for b, m, n in ((6, 5, 5), (7, 7, 7), (6, 9, 12), (7, 1, 9)):
        q, k, v = random(b, m, WIDTH), random(b, n, WIDTH, seed=1), random(b, n, WIDTH, seed=2)
        close(function(q, k, v), expected(q, k, v))
    count = len(function.kernels)
    for b, m, n in ((6, 11, 6), (5, 6, 13), (7, 15, 15)):
        q, k, v = random(b, m, WIDTH), random(b, n, WIDTH, seed=1), random(b, n, WIDTH, seed=2)
        close(function(q, k, v), expected(q, k, v))
    assert len(function.kernels) == count


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_empty_batches_and_caches(dynamic: bool | None) -> None:
    function = jit(attention, dynamic=dynamic)
    for b, m, n in ((2, 3, 5), (2, 3, 0), (2, 0, 7), (0, 3, 7), (2, 4, 8), (2, 4, 0), (1, 1, 1)):
        q, k, v = random(b, m, WIDTH), random(b, n, WIDTH, seed=1), random(b, n, WIDTH, seed=2)
        close(function(q, k, v), expected(q, k, v))


def test_a_dim_that_may_be_zero_has_one_kernel() -> None:
    dim = tw.Dim("l", 0, 64)
    specs = tw.spec((HEADS, 1, WIDTH)), tw.spec((HEADS, dim, WIDTH)), tw.spec((HEADS, dim, WIDTH))
    kernel = jit(attention).lower(*specs).compile()
    for n in (0, 1, 2, 63, 64):
        q, k, v = random(HEADS, 1, WIDTH), random(HEADS, n, WIDTH, seed=1), random(HEADS, n, WIDTH, seed=2)
        close(kernel(q, k, v), expected(q, k, v))


def test_values_out_of_range_and_symbols_with_two_values_are_refused() -> None:
    dim = tw.Dim("l", 2, 64)
    specs = tw.spec((HEADS, 1, WIDTH)), tw.spec((HEADS, dim, WIDTH)), tw.spec((HEADS, dim, WIDTH))
    kernel = jit(attention).lower(*specs).compile()
    q, k = random(HEADS, 1, WIDTH), random(HEADS, 80, WIDTH)
    for n in (1, 65):
        with pytest.raises(tw.ShapeError, match=r"(?s)argument k has shape \(2, \d+, 16\), .*l must lie in 2\.\.64"):
            kernel(q, k[:, :n], k[:, :n])
    with pytest.raises(tw.ShapeError, match=r"(?s)argument v has shape .*l is 9 by argument k"):
        kernel(q, k[:, :9], k[:, :10])


def test_rows_of_constant_weights_vary() -> None:
    weights = random(24, 40), random(40, 24, seed=1)
    layer = jit(lambda x: tw.relu(x @ weights[0]) @ weights[1])
    for rows in (7, 1, 2, 3, 33, 64, 17, 100):
        x = random(rows, 24, seed=rows)
        close(layer(x), np.maximum(x.astype(np.float64) @ weights[0], 0) @ weights[1])
    assert len(layer.kernels) == 3
    assert all(kernel.memory_stats().constant_bytes for kernel in layer.kernels[2:])


def test_what_cannot_be_traced_with_a_length_is_specialised_for_it_alone() -> None:
    def function(x: Any, y: Any) -> Any:
        return sum(x[row] for row in range(x.shape[0])), y + len(x.shape)

    jitted = jit(function)
    for rows, n in ((3, 5), (4, 6), (7, 6), (7, 9), (7, 12)):
        x, y = random(rows, 3), random(n)
        for actual, exact in zip(jitted(x, y), (x.sum(0), y + 2), strict=True):
            close(actual, exact)
    assert len(jitted.kernels) == 3
    with pytest.raises(tw.TilewrightError):
        jit(function, dynamic=True)(random(3, 3), random(5))


def test_heads_that_share_others_are_numbers_and_the_rest_stays_dynamic() -> None:
    """How many heads of q share one of k and v is no extent that a kernel could compute: with `dynamic=True`, too."""
    jitted = jit(partial(tw.scaled_dot_product_attention, enable_gqa=True, scale=0.25), dynamic=True)
    for batch, queries, keys in ((3, 5, 6), (5, 7, 9)):
        q, k, v = (random(batch, heads, n, 8, seed=n) for heads, n in ((4, queries), (2, keys), (2, keys)))
        repeated = (q, np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1))
        exact = expected(*(x.reshape(4 * batch, -1, 8) for x in repeated))
        close(jitted(q, k, v).reshape(exact.shape), exact)
    assert len(jitted.kernels) == 1


def test_branches_on_lengths_are_decided_by_ranges_or_specialised() -> None:
    def function(x: Any) -> Any:
        return x * 2 if x.shape[0] == 3 else x * (3 if x.shape[0] > 16 else 4)

    jitted = jit(function)
    for n in (2, 3, 4, 1, 5, 15, 16, 17, 30, 64):
        close(jitted(random(n)), random(n) * (2 if n == 3 else 3 if n > 16 else 4))
    assert len(jitted.kernels) == 5  # 2, 3, 1..2, 4..16, 17 and more


def test_broadcast_extents_stay_broadcast() -> None:
    def masked(scores: Any, mask: Any) -> Any:
        return tw.softmax(scores + mask, axis=-1)

    jitted = jit(masked)
    for b, n, mask_b in ((2, 9, 1), (2, 12, 2), (5, 12, 5), (6, 12, 1), (6, 10, 6), (7, 13, 7), (1, 13, 1)):
        scores, mask = random(b, 3, n), random(mask_b, 1, n, seed=1)
        close(jitted(scores, mask), jit(masked)(scores, mask, interpret=True))
    assert len(jitted.kernels) <= 6


def test_explain_shows_the_range() -> None:
    double = jit(lambda x: x * 2)
    for n in (5, 20, 30):
        double(random(n))
    assert "s0 in 1..1048576 (planned as 128)" in double.kernels[-1].explain()


def test_a_product_of_matrices_that_vary_is_planned_for_large_ones() -> None:
    product = jit(lambda a, b: a @ b, dynamic=True)
    attention = jit(lambda q, k, v: tw.softmax(q @ k.T, axis=-1) @ v, dynamic=True)
    close(product(random(9, 8), random(8, 7)), random(9, 8) @ random(8, 7))
    attention(random(9, 8), random(7, 8), random(7, 8))
    planned = [jitted.kernels[0].explain().count("(planned as 1024)") for jitted in (product, attention)]
    assert planned == [3, 0]


def test_a_choice_that_is_none_is_refused() -> None:
    with pytest.raises(tw.TilewrightError, match="dynamic='yes' is no choice"):
        tw.jit(lambda x: x, dynamic="yes")  # type: ignore[call-overload]
