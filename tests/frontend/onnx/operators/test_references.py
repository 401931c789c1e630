"""Operators that mostly run as NumPy: the tests that onnx brings for them, and what these leave out."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tests.support.onnx_references import cases_of, check, missing_operators
from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.definition import definitions
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.sizes import check_size

OPERATORS = [
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceLength",
    "SequenceAt",
    "SequenceInsert",
    "SequenceErase",
    "SequenceMap",
    "SplitToSequence",
    "ConcatFromSequence",
    "Optional",
    "OptionalHasElement",
    "OptionalGetElement",
    "If",
    "Loop",
    "Scan",
    "StringConcat",
    "StringSplit",
    "StringNormalizer",
    "RegexFullMatch",
    "TfIdfVectorizer",
    "RNN",
    "GRU",
    "LSTM",
    "DFT",
    "STFT",
    "HannWindow",
    "HammingWindow",
    "BlackmanWindow",
    "MelWeightMatrix",
    "Det",
    "Adagrad",
    "Adam",
    "Momentum",
    "FlexAttention",
    "LinearAttention",
    "CausalConvWithState",
    "ArrayFeatureExtractor",
    "Binarizer",
    "LabelEncoder",
    "TreeEnsemble",
]
CASES = [case for case in cases_of(*OPERATORS) if not missing_operators(case.model)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_references_are_those_of_onnx(case):
    check(case)


@pytest.mark.parametrize("case", cases_of("ImageDecoder"), ids=lambda case: case.name)
def test_images_are_decoded(case):
    pytest.importorskip("PIL")
    check(case)


def test_bytes_that_are_no_image_decode_to_nothing():
    pytest.importorskip("PIL")
    assert operator("ImageDecoder", 20).reference(np.arange(9, dtype=np.uint8)).shape == (0, 0, 3)


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


BAD = {
    "a huge window": lambda: operator("HannWindow", 17).reference(np.array(10**12)),
    "a negative extent": lambda: check_size((2, -1), "f"),
    "an element type that does not exist": lambda: element_type(99),
    "frames longer than the signal": lambda: operator("STFT", 17).reference(np.zeros((1, 4, 1)), np.array(1), np.zeros(5)),
    "no square": lambda: operator("Det", 22).reference(np.zeros((2, 3))),
    "an optimizer's group that is not whole": lambda: operator("Adam", 1, "ai.onnx.preview.training").reference(1.0, 0, 1.0),
    "a gradient": lambda: operator("Gradient", 1, "ai.onnx.preview.training", xs=("x",), y="y").reference(),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD.keys())
def test_bad_operands_are_refused(call):
    with pytest.raises(TilewrightError):
        call()
