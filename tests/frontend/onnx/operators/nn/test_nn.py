"""Norms, rotary embeddings and attention."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.node_tests import node_tests, of_operators
from tests.support.onnx_operators import agree, lowered


def test_norms_whose_weights_broadcast() -> None:
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.standard_normal(shape, np.float32) for shape in ((2, 3, 5), (5,), (3, 1)))
    agree("LayerNormalization", 17, x, weight, bias, axis=1)
    agree("LayerNormalization", 17, x.astype(np.float16), weight[:5].astype(np.float16))
    agree("RMSNormalization", 23, x.astype("f8"), weight.astype("f8"), axis=1)


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
