"""Tensors as arrays that neither own their memory nor change what torch may do with it.

`Tensor.numpy` would forbid to resize the tensor, for ever, and keep it alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import torch

from tilewright.dtypes import dtype_named
from tilewright.frontend.torch.element_types import NAMES

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_KINDS = {dtype: np.dtype(np.uint16) if dtype is torch.bfloat16 else np.dtype(name) for dtype, name in NAMES.items()}
"""By element type, as what NumPy sees its bits; it has no bfloat16 of its own."""


@lru_cache(maxsize=1024)
def _bytes_at(count: int) -> Callable[[int], Any]:
    """Makes so many bytes at an address, which somebody else owns, a buffer."""
    return (ctypes.c_char * count).from_address


def borrowed(tensor: torch.Tensor) -> Array:
    """The elements of a tensor in its memory, while somebody holds the tensor: it is strided, in the CPU's memory, and no view
    that conjugates or negates.

    >>> weight = torch.arange(6.0).reshape(2, 3)
    >>> borrowed(weight.T).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    shape, dtype = tensor.shape, tensor.dtype
    if not tensor.is_contiguous():
        return _in_steps(tensor)
    array: Array = np.ndarray(shape, _KINDS[dtype], _bytes_at(tensor.nbytes)(tensor.data_ptr()))
    return array.view(ml_dtypes.bfloat16) if dtype is torch.bfloat16 else array


def _in_steps(tensor: torch.Tensor) -> Array:
    """Of a tensor whose elements lie in another order, or apart."""
    size = tensor.element_size()
    if not tensor.numel():
        return np.zeros(tuple(tensor.shape), dtype_named(NAMES[tensor.dtype]))
    steps = [stride * size for stride in tensor.stride()]
    count = size + sum((extent - 1) * step for extent, step in zip(tensor.shape, steps, strict=True))
    array: Array = np.ndarray(tuple(tensor.shape), _KINDS[tensor.dtype], _bytes_at(count)(tensor.data_ptr()), 0, steps)
    return array.view(ml_dtypes.bfloat16) if tensor.dtype is torch.bfloat16 else array
