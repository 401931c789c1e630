"""Operators that mostly run as NumPy: the tests that onnx brings for them, and what these leave out."""

import pytest

from tests.support.onnx_references import cases_of, check, missing_operators

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
