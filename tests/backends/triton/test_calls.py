"""Arguments and results of calls, in Triton's interpreter."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.support.triton_calls import given_in, in_bfloat16, refused


@pytest.mark.parametrize("kind", ["strides", "read-only", "torch", "out", "threads", "profile"])
def test_arguments_of_every_kind(interpreter: ProcessPoolExecutor, kind: str) -> None:
    interpreter.submit(given_in, kind).result()


def test_tensors_of_bfloat16(interpreter: ProcessPoolExecutor) -> None:
    interpreter.submit(in_bfloat16).result()


def test_wrong_arguments_are_named(interpreter: ProcessPoolExecutor) -> None:
    assert interpreter.submit(refused).result() == ["ShapeError", "DTypeError"]
