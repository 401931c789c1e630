"""Arguments and results of calls, in Triton's interpreter."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from tests.support.triton_calls import block_error, constants_error, given_in, in_bfloat16, refused


@pytest.mark.parametrize("kind", ["strides", "byte order", "read-only", "torch", "out", "threads", "profile"])
def test_arguments_of_every_kind(interpreter: ProcessPoolExecutor, kind: str) -> None:
    found, wanted = interpreter.submit(given_in, kind).result()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_tensors_of_bfloat16(interpreter: ProcessPoolExecutor) -> None:
    dtype, found, wanted = interpreter.submit(in_bfloat16).result()
    assert dtype == "torch.bfloat16"
    np.testing.assert_allclose(found, wanted, rtol=8e-3, atol=1e-4)


def test_wrong_arguments_are_named(interpreter: ProcessPoolExecutor) -> None:
    assert interpreter.submit(refused).result() == ["ShapeError", "DTypeError"]


@pytest.mark.parametrize("target", ["a100", "h100"])
def test_a_transformer_block_has_attention_and_mlp_as_one_kernel_each(interpreter: ProcessPoolExecutor, target: str) -> None:
    error, products = interpreter.submit(block_error, target).result()
    assert error <= 1e-3
    assert sorted(products) == [1, 1, 1, 1, 2, 2]


def test_constants_are_arguments_that_calls_do_not_give(interpreter: ProcessPoolExecutor) -> None:
    assert interpreter.submit(constants_error).result() <= 1e-3
