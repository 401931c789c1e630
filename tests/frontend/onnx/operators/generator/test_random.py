"""Random tensors: seeds and distributions."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.frontend.onnx.definition import definitions

RANDOM = {"RandomUniform": {"shape": (40, 50)}, "RandomNormal": {"shape": (40, 50)}}


def test_random_operators_are_marked():
    assert {one.name for one in definitions() if one.is_random} >= {"Bernoulli", "Multinomial", "RandomUniformLike", *RANDOM}


@pytest.mark.parametrize("name", ["RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Bernoulli"])
def test_a_seed_repeats_random_numbers(name):
    def drawn(**seed):
        return operator(name, 22, **RANDOM.get(name, {}), **seed).reference(*operands)

    operands = () if name in RANDOM else (np.full((40, 50), 0.25, np.float32),)
    first, again, other = (drawn(seed=seed) for seed in (1.5, 1.5, 2.5))
    assert first.dtype == np.float32
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(drawn(), drawn())


def test_draws_have_their_distributions():
    chances = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]]) + 1e-30)
    drawn = operator("Multinomial", 22, sample_size=4000, seed=1.0, dtype=7).reference(chances)
    shares = np.stack([(drawn == number).mean(axis=1) for number in range(3)], axis=1)
    np.testing.assert_allclose(shares, np.exp(chances), atol=0.03)
    np.testing.assert_allclose(operator("Bernoulli", 22, seed=1.0).reference(np.full(4000, 0.3)).mean(), 0.3, atol=0.03)
