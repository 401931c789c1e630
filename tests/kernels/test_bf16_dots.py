"""VDPBF16PS as other instructions in the tile that uses it: the contract's shapes, and the bits of the manual's arithmetic."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.contract.test_matmul_kernels import (
    check_denormals,
    check_one_value_everywhere,
    check_products,
    check_special_values,
    dense_call,
    typed,
)
from tests.support.amx_model import flushed
from tests.support.guarded import in_child
from tests.support.kernel_build import load
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.other_types.x86_bf16 import DOTS
from tilewright.kernels.products import product_kernel

EMULATED = product_kernel(DIALECT, replace(DOTS, features=frozenset()), 3, 2, peak_share=0.5)


pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")


CHECKS = (check_products, check_special_values, check_denormals, check_one_value_everywhere)


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract(check: Any) -> None:
    in_child(check, load(EMULATED, "gcc", ()), EMULATED)


def second_before_first(a: Any, b: Any, c: Any) -> Any:
    """The sums of a product (m, k) by (k, n) as the manual says, C added last."""
    pairs = [(p + 1, p) for p in range(0, a.shape[1], 2)]
    sums = np.zeros(c.shape, np.float32)
    for step in (step for pair in pairs for step in pair if step < a.shape[1]):
        products = flushed(a[:, step])[:, None].astype(np.float64) * flushed(b[step])
        sums = flushed((flushed(sums) + products).astype(np.float32))
    return sums + c


@pytest.mark.parametrize("size", [1.0, 1e-19, 1e-38])
@pytest.mark.parametrize("steps", [1, 2, 7, 64])
def test_bits_are_those_of_the_manual(steps: int, size: float) -> None:
    """Sums of normal numbers, of products that are denormal, and of operands that are."""
    random = np.random.default_rng(steps)
    m, n = EMULATED.rows, EMULATED.columns - 1
    shapes = ((m, steps), (steps, n), (m, n))
    drawn = [random.standard_normal(shape) for shape in shapes]
    a, b, c = typed(EMULATED, drawn[0] * size, drawn[1] * (1 if size < 1e-30 else size), drawn[2])
    found = dense_call(load(EMULATED, "gcc", ()), EMULATED, a, b, c, accumulate=1)
    assert a.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found, second_before_first(a, b, c))
