"""MatMulInteger through a session: a micro kernel of bytes for all signs, with zero points of tensors, rows and columns."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.replay.onnx_text import model
from tests.support.onnx_operators import operator
from tilewright.onnx import InferenceSession

ROWS, STEPS, COLUMNS = 37, 130, 48
ZEROS = {"none": (), "numbers": ((), ()), "rows and columns": ((ROWS,), (COLUMNS,)), "one number": ((),)}


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("is_constant", [False, True], ids=["inputs", "constants"])
@pytest.mark.parametrize("zeros", list(ZEROS))
@pytest.mark.parametrize(("left", "right"), list(product(("uint8", "int8"), repeat=2)))
def test_sums_are_exact_and_computed_by_a_micro_kernel(left: str, right: str, zeros: str, is_constant: bool) -> None:
    rng = np.random.default_rng(5)
    values = {"a": drawn(rng, (ROWS, STEPS), left), "b": drawn(rng, (STEPS, COLUMNS), right)}
    values |= {
        name: drawn(rng, shape, dtype) for name, shape, dtype in zip(("za", "zb"), ZEROS[zeros], (left, right), strict=False)
    }
    constants = {name: value for name, value in values.items() if is_constant and name != "a"}
    inputs = {name: (value.shape, value.dtype.name) for name, value in values.items() if name not in constants}
    session = InferenceSession(model(f"y = MatMulInteger ({', '.join(values)})", inputs, constants, output_type="int32"))
    (found,) = session.run(None, {name: values[name] for name in inputs})
    np.testing.assert_array_equal(found, operator("MatMulInteger", 10).reference(*values.values()))
    assert "u8s8" in session.explain() or (left, right) == ("int8", "uint8")


def test_a_zero_point_that_is_known_as_0_costs_nothing() -> None:
    text = InferenceSession(
        model(
            "y = MatMulInteger (a, b, za, zb)",
            {"a": ((ROWS, STEPS), "uint8"), "b": ((STEPS, COLUMNS), "int8")},
            {"za": np.zeros((), np.uint8), "zb": np.zeros((1,), np.int8)},
            output_type="int32",
        )
    ).explain()
    assert "u8s8" in text
    assert "zero_points" not in text
