"""Index changes keep the element type: truth values stay conditions and integers stay whole, as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random

CHANGES: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: tw.reshape(x, (2, 12)),
    "method": lambda x: x.reshape(3, -1),
    "transpose": lambda x: tw.transpose(x),
    "permute_dims": lambda x: tw.permute_dims(x, (1, 0)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "expand_dims": lambda x: tw.expand_dims(x, (0, 2)),
    "squeeze": lambda x: tw.squeeze(x[:, :1]),
    "broadcast_to": lambda x: tw.broadcast_to(x[:, None], (4, 3, 6)),
    "broadcast_to a length": lambda x: tw.broadcast_to(x[0, 0], 7),
    "slices": lambda x: x[1:, ::-2],
    "integer": lambda x: x[2],
    "None": lambda x: x[:, None, None, :],
    "T": lambda x: x.T[:, 1:],
    "mT": lambda x: np.matrix_transpose(x) if isinstance(x, np.ndarray) else x.mT,
    "several": lambda x: x[None, ::-1].swapaxes(1, 2).reshape(8, 3).T,
}
TRUTH = np.random.default_rng(0).random((4, 6)) < 0.5


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("values", [TRUTH, np.arange(24).reshape(4, 6) - 12], ids=["bool", "int64"])
def test_element_types_and_values_are_those_of_numpy(name: str, values: np.ndarray) -> None:
    expected = CHANGES[name](values)
    actual = tw.jit(CHANGES[name])(values, interpret=True)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("fuse", [True, False])
def test_kernels_choose_by_them(fuse: bool) -> None:
    def function(truth: Any, number: Any, xs: Any) -> Any:
        chosen = [tw.where(change(truth), x, change(number)) for change, x in zip(CHANGES.values(), xs, strict=True)]
        softmaxed = tw.softmax(xs[0].reshape(6, 4)).reshape(2, 12)
        return chosen, tw.sum(truth.T.astype(np.float32)), tw.where(tw.reshape(softmaxed > 0.2, (12, 2)).T, 1.0, 0.0)

    number, xs = random(4, 6), [random(*change(TRUTH).shape, seed=1) for change in CHANGES.values()]
    chosen, count, large = tw.jit(function, target="x86-64-v3", threads=1, fuse=fuse)(TRUTH, number, xs)
    expected, _, expected_large = function(TRUTH, number, xs)
    for one, other in zip(chosen, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert count == TRUTH.sum()
    np.testing.assert_array_equal(large, expected_large)
