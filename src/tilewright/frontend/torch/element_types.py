"""Element types of torch that graphs have, by both names."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from tilewright.graph.numpy_types import is_short_float

NAMES: dict[torch.dtype, str] = {
    getattr(torch, name): name
    for name in (
        *("float32", "float64", "float16", "bfloat16", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}
TYPES: dict[str, torch.dtype] = {name: dtype for dtype, name in NAMES.items()}


def wide_type(dtype: str) -> str:
    """The type to compute in: float32 for halves, which are rounded once behind.

    >>> wide_type("bfloat16"), wide_type("int64")
    ('float32', 'int64')
    """
    return "float32" if is_short_float(dtype) else dtype


def numpy_view(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The elements of a tensor in its own memory, as an array; NumPy knows bfloat16 by `ml_dtypes`.

    >>> numpy_view(torch.ones(2, dtype=torch.bfloat16)).dtype.name
    'bfloat16'
    """
    plain = tensor.detach()
    is_bfloat16 = plain.dtype is torch.bfloat16
    array: np.ndarray[Any, Any] = plain.view(torch.uint16).numpy() if is_bfloat16 else plain.numpy()
    return array.view(ml_dtypes.bfloat16) if is_bfloat16 else array
