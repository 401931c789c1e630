"""Every scalar function of the table against NumPy's reference, in Triton's interpreter."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.support.triton_functions import function_errors
from tilewright.graph.expressions.scalar_functions import FUNCTIONS, OF_BITS
from tilewright.render.triton.functions import FLOATS, HELPERS, INTEGERS, WHOLE_HELPERS

WITHOUT_TEXT = {"asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "erfc"}
"""Functions that no kernel computes: they are refused."""
BOUND = 1e-6
"""Of the error of float32, over the larger of 1 and the value; functions of conditions and whole numbers have none."""


def test_the_tables_have_every_function_but_these() -> None:
    assert FLOATS.keys() | HELPERS.keys() == FUNCTIONS.keys() - OF_BITS - WITHOUT_TEXT
    assert FLOATS.keys().isdisjoint(HELPERS)
    assert INTEGERS.keys().isdisjoint(WHOLE_HELPERS)
    assert INTEGERS.keys() >= OF_BITS


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_functions_compute_what_numpy_does(interpreter: ProcessPoolExecutor, dtype: str) -> None:
    errors = interpreter.submit(function_errors, dtype).result()
    assert len(errors) > 20
    assert not {name: error for name, error in errors.items() if not error <= (BOUND if dtype == "float32" else 0)}
