"""Powers of two of what is not above 0, as softmax takes them: every 1021st float down to -160, and what is special."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.leaves.tile_programs.rows.exponentials import exp2_down
from tilewright.tile.builder import Builder
from tilewright.tile.interpreter import interpret
from tilewright.tile.types import vector

Array = np.ndarray[Any, np.dtype[Any]]


def powers(x: Array) -> Array:
    """Of all numbers at once."""
    b = Builder()
    found = interpret(b.program("powers", exp2_down(b, b.argument("x", vector("float32", x.size)))), x)
    assert found is not None
    return found


def test_powers_of_differences() -> None:
    x = (np.arange(0, 0x43200000, 1021, dtype=np.uint32) | np.uint32(0x80000000)).view(np.float32)
    found, exact = powers(x), np.exp2(x.astype(np.float64))
    normal = exact > 2.0**-125
    assert (np.abs(found / exact - 1)[normal] <= 2.4e-7).all()
    assert (found[~normal] <= exact[~normal] * (1 + 1e-5) + 2.0**-149).all()


def test_special_differences() -> None:
    x = np.array([0, -0.0, -np.inf, -3e38, -3e9, -160, -1e-42, np.nan], np.float32)
    x = np.append(x, np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00101], np.uint32).view(np.float32))
    expected = np.array([1, 1, 0, 0, 0, 0, 1, *[np.nan] * 4], np.float32)
    np.testing.assert_allclose(powers(x), expected, rtol=2.4e-7, atol=0)
