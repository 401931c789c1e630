"""Activations: far from 0 and next to it, and along rows of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import agree, operator

ACTIVATIONS = (
    *("Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "Hardmax", "LeakyRelu", "LogSoftmax", "Mish", "PRelu", "Relu", "Selu"),
    *("Shrink", "Sigmoid", "Softmax", "Softplus", "Softsign", "SwiGLU", "Swish", "Tanh", "ThresholdedRelu"),
)

WIDE = np.concatenate([np.linspace(-100, 100, 41), [-1e-8, 1e-8, 0.0, -0.0, 1e-4, -1e-4]]).astype(np.float32)


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name not in ("PRelu", "SwiGLU")])
def test_activations_far_from_and_next_to_0(name: str) -> None:
    agree(name, 99, WIDE)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_before_opset_13_rows_go_over_several_dimensions(name: str, axis: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 5), np.float32)
    agree(name, 12, x, axis=axis)
    rows = 1 if axis == 0 else 2 if axis == 1 else 6
    whole = operator(name, 13, axis=-1).reference(x.reshape(rows, -1))
    np.testing.assert_array_equal(operator(name, 12, axis=axis).reference(x), whole.reshape(x.shape))
