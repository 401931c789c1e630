"""Norms, rotary embeddings and attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.node_tests import node_tests, of_operators
from tests.support.onnx_operators import agree, lowered, operator


def test_norms_whose_weights_broadcast() -> None:
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.standard_normal(shape, np.float32) for shape in ((2, 3, 5), (5,), (3, 1)))
    agree("LayerNormalization", 17, x, weight, bias, axis=1)
    agree("LayerNormalization", 17, x.astype(np.float16), weight[:5].astype(np.float16))
    agree("RMSNormalization", 23, x.astype("f8"), weight.astype("f8"), axis=1)


NORMS: dict[str, tuple[int, dict[str, Any], int]] = {
    "LayerNormalization": (17, {}, 2),
    "InstanceNormalization": (6, {}, 2),
    "GroupNormalization": (21, {"num_groups": 1}, 2),
    "MeanVarianceNormalization": (13, {"axes": [1, 2]}, 0),
    "Softmax": (13, {}, 0),
}
"""Versions, attributes, and how many weights there are: rows that are moved have the same results."""


@pytest.mark.parametrize("name", NORMS)
def test_doubles_are_normalized_in_float64(name: str) -> None:
    """Far from 0, where float32 does not hold their differences."""
    version, attributes, weights = NORMS[name]
    rng = np.random.default_rng(0)
    far, *others = rng.standard_normal((2, 4, 4)) + 1e6, *(rng.standard_normal(4) for _ in range(weights))
    norm = operator(name, version, **attributes)
    near, found = (np.reshape(norm.reference(x, *others), far.shape) for x in (far - 1e6, far))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, near, atol=1e-8)
    np.testing.assert_allclose(lowered(name, version, far, *others, **attributes), near, atol=1e-8)


def test_roots_of_doubles_are_float64() -> None:
    x, scale = np.random.default_rng(0).standard_normal((2, 5, 4))
    expected = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-5) * scale[0]
    for found in (operator("RMSNormalization", 23).reference(x, scale[0]), lowered("RMSNormalization", 23, x, scale[0])):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_short_stash_type_does_not_round_rows() -> None:
    """It is the type of the mean and the deviation alone."""
    x = np.array([[1.0, 1.001, 0.999, 1.0]], np.float32)
    result, mean, _ = operator("LayerNormalization", 17, stash_type=16, output_count=3).reference(x, np.ones(4, np.float32))
    agree("LayerNormalization", 17, x, np.ones(4, np.float32), stash_type=16)
    np.testing.assert_array_equal(result, operator("LayerNormalization", 17).reference(x, np.ones(4, np.float32))[0])
    assert mean.dtype.name == "bfloat16"


@pytest.mark.parametrize("form", [{}, {"num_heads": 2}])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 2, 6])
def test_rotations_keep_the_length_of_pairs(form: dict[str, int], interleaved: int, turned: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 7, 12) if form else (2, 2, 7, 6), np.float32)
    angles = rng.standard_normal((50, (turned or 6) // 2), np.float32)
    ids = rng.integers(0, 50, (2, 7))
    options = {**form, "interleaved": interleaved, "rotary_embedding_dim": turned}
    agree("RotaryEmbedding", 23, x, np.cos(angles), np.sin(angles), ids, **options)
    result = lowered("RotaryEmbedding", 23, x, np.cos(angles), np.sin(angles), ids, **options)
    np.testing.assert_allclose(np.square(result).sum(), np.square(x).sum(), rtol=1e-5)


def test_all_attention_is_lowered() -> None:
    assert sum(test.definition.name == "Attention" for test in node_tests()) == 93
    assert all(test.lowered() for test in of_operators("Attention"))
