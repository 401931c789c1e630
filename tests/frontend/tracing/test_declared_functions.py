"""Functions of `tile/functions/` in traced programs: by the names of the array API and by NumPy's, in both types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tile.functions.registry import DECLARED

OF_ONE = sorted(name for name, one in DECLARED.items() if one.arity == 1 and name not in ("gelu", "gelu_tanh"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_at_once(dtype: str) -> None:
    x = np.array([0.03, 0.4, 0.75, 0.999, -0.2, -0.9, 1.5, np.nan, np.inf, -np.inf, 0.0, 30.0, -7.0], dtype)
    y = np.linspace(-2, 2, len(x)).astype(dtype)

    def functions(x: Any, y: Any) -> Any:
        return {**{name: getattr(tw, name)(x) for name in OF_ONE}, "atan2": np.arctan2(x, y), "fmod": np.fmod(x, y)}

    found = tw.jit(functions, threads=1)(x, y)
    with np.errstate(all="ignore"):
        wanted = {name: DECLARED[name].numpy(x) for name in OF_ONE} | {"atan2": np.arctan2(x, y), "fmod": np.fmod(x, y)}
    for name, values in wanted.items():
        assert found[name].dtype == values.dtype == dtype
        np.testing.assert_allclose(found[name], values, rtol=4e-6 if dtype == "float32" else 1e-14, atol=1e-30, err_msg=name)


def test_powers_of_arrays() -> None:
    x, y = np.array([0.5, 2.0, 3.0], np.float32), np.array([3.0, -1.5, 0.25], np.float32)
    found = tw.jit(lambda x, y: {"both": x**y, "third": x ** (1 / 3), "of_two": 2.0**x})(x, y)
    for name, wanted in {"both": x**y, "third": x ** np.float32(1 / 3), "of_two": np.float32(2) ** x}.items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-6, err_msg=name)
