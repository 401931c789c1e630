"""`scaled_dot_product_attention`: against a loop over keys in float64, and against PyTorch's math path where there is PyTorch."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.support.attention import attention_oracle
from tests.support.graphs import random
from tilewright.frontend.tracing.attention import scaled_dot_product_attention as attention

jit = functools.partial(tw.jit, target="x86-64-v3", threads=1)
STATIC = ("is_causal", "causal_alignment", "window", "softcap", "scale", "enable_gqa")
Q, K, V = random(2, 4, 9, 8), random(2, 4, 13, 8, seed=1), random(2, 4, 13, 12, seed=2)
MASK = np.random.default_rng(3).random((2, 1, 9, 13)) > 0.4
MASK[0, 0, 3] = False
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"scale": 0.7},
    "causal": {"is_causal": True},
    "past keys": {"is_causal": True, "causal_alignment": "bottom-right"},
    "window": {"window": (3, 1)},
    "causal window behind past keys": {"is_causal": True, "window": (4, None), "causal_alignment": "bottom-right"},
    "softcap": {"softcap": 2.5},
    "truth values": {"attn_mask": MASK},
    "padding": {"attn_mask": MASK[:, :, :1]},
    "mask and causal": {"attn_mask": MASK[0, 0], "is_causal": True},
    "bias": {"attn_mask": random(4, 1, 13, seed=4)},
    "bias of -inf": {"attn_mask": np.where(MASK, 0, -np.inf).astype(np.float32), "softcap": 4.0},
    "lengths": {"key_lengths": np.array([0, 11])},
    "one key behind past keys": {
        "key_lengths": np.array([1, 11], np.int32),
        "is_causal": True,
        "causal_alignment": "bottom-right",
    },
}


def close(actual: Any, expected: Any) -> None:
    assert np.asarray(actual).dtype == np.float32
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_numpy_reference(name: str) -> None:
    q, k, v = (x.astype(np.float64) for x in (Q, K, V))
    options = {key: x.astype("f8") if getattr(x, "dtype", None) == np.float32 else x for key, x in OPTIONS[name].items()}
    expected = attention_oracle(Q, K, V, **OPTIONS[name])
    np.testing.assert_allclose(attention(q, k, v, **options), expected, rtol=1e-12, atol=1e-12)
    traced = tw.jit(attention, static_argnames=STATIC)(q, k, v, **options, interpret=True)
    np.testing.assert_allclose(traced, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("name", ["causal", "bias of -inf", "one key behind past keys", "mask and causal"])
def test_kernels(name: str) -> None:
    close(jit(attention, static_argnames=STATIC)(Q, K, V, **OPTIONS[name]), attention_oracle(Q, K, V, **OPTIONS[name]))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("queries", [1, 7])
@pytest.mark.parametrize("shared", [1, 2])
def test_heads_share_keys(queries: int, shared: int) -> None:
    q = random(2, 4, queries, 8)
    options = {"attn_mask": random(4, 1, 13, seed=5), "key_lengths": np.array([5, 13])}
    expected = attention_oracle(q, K[:, :shared], V[:, :shared], **options)
    close(jit(attention, static_argnames=STATIC)(q, K[:, :shared], V[:, :shared], **options, enable_gqa=True), expected)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("shape", [(9, 13), (4, 9, 13), (4, 9, 1), (2, 1, 9, 13), (2, 4, 1, 13)])
def test_truth_values_for_heads_that_share_keys(shape: tuple[int, ...]) -> None:
    mask = np.random.default_rng(6).random(shape) > 0.4
    options = {"attn_mask": mask, "enable_gqa": True}
    expected = attention_oracle(Q, K[:, :2], V[:, :2], attn_mask=mask)
    close(jit(attention, static_argnames=STATIC)(Q, K[:, :2], V[:, :2], **options), expected)


@pytest.mark.needs("avx2", "fma")
def test_truth_values_that_were_turned_stay_truth_values() -> None:
    def function(q: Any, k: Any, v: Any, padding: Any, turned: Any) -> Any:
        return attention(q, k, v, padding[:, None, None, :]) + attention(q, k, v, turned[:, :9].T.reshape(1, 1, 9, 13))

    padding, turned = MASK[:, 0, 0], MASK[0, 0, [0, 1, 2, 4, 5, 6, 7, 8, 0, 1, 2]].T
    masks = padding[:, None, None], turned[:, :9].T[None, None]
    expected = np.add(*(attention_oracle(Q, K, V, attn_mask=mask) for mask in masks))
    close(jit(function)(Q, K, V, padding, turned), expected)


@pytest.mark.needs("avx2", "fma")
def test_any_layout_and_fewer_dimensions() -> None:
    function = jit(attention, static_argnames=STATIC)
    turned = [np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) for x in (Q, K, V)]
    expected = attention_oracle(Q, K, V, is_causal=True)
    close(function(*turned, is_causal=True), expected)
    close(function(Q[::-1], K[::-1], V[::-1], is_causal=True), expected[::-1])
    close(function(Q[0], K[0], V[0], is_causal=True), expected[0])
    close(function(Q[0, 1], K[0, 1], V[0, 1], is_causal=True), expected[0, 1])


def heads_beside_each_other(q: Any, k: Any, v: Any) -> Any:
    """Attention of (batch, length, heads, width) with its result in (batch, length, heads * width)."""
    out = attention(*(x.swapaxes(1, 2) for x in (q, k, v)), enable_gqa=True).swapaxes(1, 2)
    return out.reshape(out.shape[0], out.shape[1], out.shape[2] * out.shape[3])


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize(("queries", "shared"), [(9, 4), (9, 2), (1, 2)])
def test_the_result_lies_as_the_caller_wants_it(queries: int, shared: int) -> None:
    q, k, v = Q[:, :, :queries].swapaxes(1, 2), K[:, :shared].swapaxes(1, 2), V[:, :shared].swapaxes(1, 2)
    lowered = jit(heads_beside_each_other).lower(q, k, v)
    assert [operator.kind for operator in lowered.plan.chain.operators] == ["einsum", "softmax", "einsum"]
    expected = attention_oracle(Q[:, :, :queries], K[:, :shared], V[:, :shared])
    close(lowered.compile()(q, k, v), expected.swapaxes(1, 2).reshape(2, queries, 48))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"window": (3, None)}, {"window": (0, 2)}], ids=str)
def test_no_keys_give_zeros(options: dict[str, Any]) -> None:
    q = random(33, 8)
    assert not jit(functools.partial(attention, **options))(q, q[:0], q[:0]).any()


@pytest.mark.needs("avx2", "fma")
def test_lengths_of_heads() -> None:
    q, k, v, lengths = Q.reshape(8, 9, 8), K.reshape(8, 13, 8)[:2], V.reshape(8, 13, 12)[:2], np.array([0, 1, 5, 13, 2, 3, 12, 9])
    keys, values = (np.repeat(x, 4, axis=0)[:, None] for x in (k, v))
    expected = attention_oracle(q[:, None], keys, values, key_lengths=lengths)[:, 0]
    close(attention(q, k, v, key_lengths=lengths, enable_gqa=True), expected)
    close(jit(attention, static_argnames=STATIC)(q, k, v, key_lengths=lengths, enable_gqa=True), expected)


@pytest.mark.needs("avx2", "fma")
def test_width_0_takes_all_keys_alike() -> None:
    for function in (attention, jit(attention)):
        close(function(Q[..., :0], K[..., :0], V), np.broadcast_to(V.mean(axis=2, keepdims=True), (2, 4, 9, 12)))


@pytest.mark.parametrize(("window", "same"), [([3, 1], (3, 1)), ((2**63, 2**64), None), ((2, 2**64), (2, None))])
def test_windows_as_lists_and_beyond_int64(window: Any, same: Any) -> None:
    np.testing.assert_array_equal(attention(Q, K, V, window=window), attention(Q, K, V, window=same))


EXTENTS = st.sampled_from([1, 2, 3, 5, 7, 8, 13, 17])


@pytest.mark.needs("avx2", "fma")
@given(data=st.data())
def test_symbolic_lengths(data: st.DataObject) -> None:
    batch, queries, keys = (data.draw(EXTENTS, label=label) for label in ("batch", "queries", "keys"))
    lengths = np.array(data.draw(st.lists(st.integers(0, keys), min_size=batch, max_size=batch)), np.int64)
    q, k, v = random(batch, 2, queries, 8), random(batch, 2, keys, 8, seed=1), random(batch, 2, keys, 5, seed=2)
    close(_symbolic()(q, k, v, lengths), attention_oracle(q, k, v, key_lengths=lengths, window=(3, 2), **PAST))


PAST: dict[str, Any] = {"causal_alignment": "bottom-right"}


@functools.cache
def _symbolic() -> Any:
    def function(q: Any, k: Any, v: Any, lengths: Any) -> Any:
        return attention(q, k, v, key_lengths=lengths, window=(3, 2), **PAST)

    shapes = (("b", 2, "m", 8), ("b", 2, "l", 8), ("b", 2, "l", 5))
    return jit(function).lower(*(tw.spec(shape) for shape in shapes), tw.spec(("b",), "i8")).compile()


@pytest.mark.needs("avx2", "fma")
def test_widths_may_vary() -> None:
    vary = jit(attention, dynamic=True)
    for queries, keys, width in ((6, 9, 8), (7, 13, 11)):
        q, k, v = random(2, 3, queries, width), random(2, 3, keys, width, seed=1), random(2, 3, keys, 15, seed=2)
        close(vary(q, k, v), attention_oracle(q, k, v))
    assert len(vary.kernels) == 1


TORCH: dict[str, dict[str, Any]] = {
    name: OPTIONS[name] for name in ("plain", "scale", "causal", "truth values", "padding", "bias", "bias of -inf")
}


@pytest.mark.parametrize("name", TORCH)
def test_pytorch_means_the_same(name: str) -> None:
    options = {key: x for key, x in TORCH[name].items() if key != "softcap"}
    expected = torch_attention(Q, K, V, **options)
    np.testing.assert_allclose(attention(Q, K, V, **options), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("where", ["q", "k", "scores"])
def test_nan_and_infinities_are_those_of_pytorch(where: str) -> None:
    q, k, bias = np.abs(Q), K.copy(), np.zeros((9, 13), np.float32)
    if where == "q":
        q[0, 0, 0, 0], q[0, 0, 1, 0] = np.nan, np.inf
    elif where == "k":
        k[0], k[1, 1, 2] = -np.inf, np.nan
    else:
        bias[0, 0], bias[1], bias[2, 3] = np.nan, -np.inf, np.inf
    close(attention(q, k, V, bias), torch_attention(q, k, V, attn_mask=bias))


def torch_attention(*arrays: Any, attn_mask: Any = None, **options: Any) -> Any:
    torch = pytest.importorskip("torch")
    mask = None if attn_mask is None else torch.from_numpy(attn_mask)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        tensors = map(torch.from_numpy, arrays)
        return torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask, **options).numpy()
