"""One and few query rows: keys in either layout, odd sizes down to one key, on every width of vectors; and x W in slices."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.support.expected import softmax64

TARGETS = [
    pytest.param("x86-64-v2"),
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512dq", "avx512bw", "avx512vl")),
]


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal(shape, np.float32) for shape in shapes]


def by_keys(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return tw.einsum("bml,bln->bmn", tw.softmax(tw.einsum("bmk,blk->bml", q, k), axis=-1), v)


def by_depth(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return tw.einsum("bml,bln->bmn", tw.softmax(tw.einsum("bmk,bkl->bml", q, k), axis=-1), v)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "keys", "width"), [(1, 257, 127), (5, 1, 33)])
def test_attention_of_few_rows(target: str, rows: int, keys: int, width: int) -> None:
    q, k, v = arrays((2, rows, width), (2, keys, width), (2, keys, width))
    q /= np.float32(width**0.5)
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2)
    expected = softmax64(scores) @ v.astype(np.float64)
    for function, key in ((by_keys, k), (by_depth, np.ascontiguousarray(k.swapaxes(1, 2)))):
        np.testing.assert_allclose(tw.jit(function, target=target)(q, key, v), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 401, 515), (2, 1, 3)])
def test_one_row_by_a_matrix_in_either_layout(target: str, rows: int, depth: int, columns: int) -> None:
    x, w = arrays((rows, depth), (depth, columns))
    expected = x.astype(np.float64) @ w.astype(np.float64)
    bound = 1e-6 * np.abs(x.astype(np.float64)) @ np.abs(w)
    for spec, weights in (("mk,kn->mn", w), ("mk,nk->mn", np.ascontiguousarray(w.T))):
        found = tw.jit(lambda a, b, spec=spec: tw.einsum(spec, a, b), target=target)(x, weights)
        assert (np.abs(found - expected) <= bound).all()


@pytest.mark.needs("avx512f", "avx512dq", "avx512bw", "avx512vl")
def test_rows_of_w_are_read_in_slices_and_maps_follow_the_last() -> None:
    x, w, bias = arrays((1, 300), (300, 4000), (4000,))
    kernel = tw.jit(lambda x, w, bias: tw.relu(x @ w + bias), target="x86-64-v4").lower(x, w, bias).compile()
    assert "+= 8)" in kernel.source, "slices of 8 rows"
    expected = np.maximum(x.astype(np.float64) @ w + bias, 0)
    np.testing.assert_allclose(kernel(x, w, bias), expected, rtol=1e-4, atol=1e-4)
