"""Reductions: of no elements, and of integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import operator


def test_means_of_nothing_are_nan() -> None:
    assert np.isnan(operator("ReduceMean", 18, keepdims=0).reference(np.zeros((2, 0), np.float32), np.array([1]))).all()


@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_log_sum_exp_of_integers_is_rounded_towards_0(dtype: str) -> None:
    x = np.array([[1, 2, 3], [900, 900, 7]], dtype)
    found = operator("ReduceLogSumExp", 18, keepdims=0).reference(x, np.array([1]))
    np.testing.assert_array_equal(found, np.array([3, 900], dtype), strict=True)
    assert operator("ReduceLogSumExp", 18, keepdims=1).reference(x).shape == (1, 1)
