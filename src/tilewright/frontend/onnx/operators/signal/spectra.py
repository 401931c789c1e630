"""Spectra as ONNX stores them: complex numbers are pairs in the last dimension; single numbers are real.

NumPy's transforms compute in the precision of the operand, float32 at least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.sizes import check_size


def check_parts(x: Any, where: str) -> None:
    """Raise `ShapeError` unless the last dimension of x holds one or two parts."""
    if np.ndim(x) < 2 or x.shape[-1] not in (1, 2):
        raise ShapeError(f"numbers of shape {np.shape(x)}", where=where, why="the last dimension holds one or two parts")


def real_numbers(x: Any, where: str) -> Any:
    """x without its last dimension. Raises `UnsupportedOperation` for complex numbers, which half a spectrum cannot describe."""
    if x.shape[-1] != 1:
        raise UnsupportedOperation("half a spectrum of complex numbers", where=where, why="it does not determine the other half")
    return np.asarray(x[..., 0], np.result_type(x.dtype, np.float32))


def complex_numbers(x: Any) -> Any:
    """The complex numbers of one or two parts.

    >>> complex_numbers(np.array([[1.0, 2.0]]))
    array([1.+2.j])
    """
    wide = np.asarray(x, np.result_type(x.dtype, np.float32))
    return wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0] + 0j


def pairs(values: Any, dtype: Any) -> Any:
    """Complex numbers as pairs in a new last dimension."""
    return np.stack([values.real, values.imag], axis=-1).astype(dtype)


def positive_integer(value: Any, where: str) -> int:
    """The only element of an operand. Raises `ShapeError` unless it is one positive number."""
    if np.size(value) != 1 or np.asarray(value).item() < 1:
        raise ShapeError(f"a length or step of {value}", where=where, why="one positive number is wanted")
    return check_size((np.asarray(value).item(),), where)[0]
