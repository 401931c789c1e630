from __future__ import annotations

import numpy as np

from tests.support.bench_cases import TINY
from tilewright_bench.cases.chains import ChainCase, chain_cases


def test_the_reference_is_softmax_of_the_scores_times_values() -> None:
    case = ChainCase(TINY, True)
    weights = ChainCase(TINY, True)
    a, b, d = (operand.astype(np.float64) for operand in weights.operands)
    powers = np.exp(np.einsum("bmk,bkl->bml", a, b))
    expected = np.einsum("bml,bln->bmn", powers / powers.sum(-1, keepdims=True), d)
    np.testing.assert_allclose(case.reference, expected, rtol=1e-12)


def test_nan_and_wrong_shapes_are_infinitely_wrong() -> None:
    case = ChainCase(TINY, False)
    assert case.error(np.full(case.reference.shape, np.nan)) == float("inf")
    assert case.error(case.reference[:1]) == float("inf")


def test_plain_cases_come_first_and_of_each_kind_those_that_may_change() -> None:
    cases = chain_cases(("G1", "G2"), "both", (False, True))
    plain = [("G1", False, False), ("G2", False, False), ("G1", False, True), ("G2", False, True)]
    assert [(case.name, case.softmax, case.prepacked) for case in cases] == [
        *plain,
        *((name, True, prepacked) for name, _, prepacked in plain),
    ]
