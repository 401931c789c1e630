"""Quantization and back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import operator


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_what_is_quantised_comes_back(dtype: str) -> None:
    x = np.random.default_rng(0).uniform(0, 100, (3, 8)).astype(np.float32)
    scale, zero = np.array([1.0, 0.5, 2.0], np.float32), np.array([0, 1, 2], dtype)
    steps = operator("QuantizeLinear", 21, axis=0).reference(x, scale, zero)
    back = operator("DequantizeLinear", 21, axis=0).reference(steps, scale, zero)
    in_range = x / scale[:, None] + zero[:, None] < np.iinfo(dtype).max
    assert steps.dtype == dtype
    assert (np.abs(back - x) <= scale[:, None] / 2)[in_range].all()
