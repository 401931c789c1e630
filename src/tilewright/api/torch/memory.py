"""Tensors as arrays that neither own their memory nor change what torch may do with it.

`Tensor.numpy` would forbid to resize the tensor, for ever, and keep it alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import torch

from tilewright.dtypes import dtype_named
from tilewright.frontend.torch.element_types import NAMES

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Borrow: TypeAlias = Callable[[torch.Tensor], Array]
"""Makes an array of a tensor."""
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
    if not tensor.is_contiguous():
        return _in_steps(tensor)
    return _dense(tensor.shape, tensor.dtype)(tensor.data_ptr())


@lru_cache(maxsize=1024)
def _dense(shape: torch.Size, dtype: torch.dtype) -> Callable[[int], Array]:
    """Makes an array of the elements at an address, which lie side by side."""
    extents, kind = tuple(shape), _KINDS[dtype]
    bytes_at = _bytes_at(prod(extents) * kind.itemsize)
    if dtype is torch.bfloat16:
        return lambda address: np.ndarray(extents, kind, bytes_at(address)).view(ml_dtypes.bfloat16)
    return lambda address: np.ndarray(extents, kind, bytes_at(address))


def borrowed_like(example: torch.Tensor) -> Borrow:
    """`borrowed`, for tensors of the layout of an example, which may be one of torch's compiler: quicker where that is known
    and dense.

    >>> tensor = torch.ones(2, 3)  # which is held as long as the array
    >>> borrowed_like(torch.zeros(2, 3))(tensor).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    shape = example.shape
    if not all(isinstance(extent, int) for extent in (*shape, *example.stride())) or not example.is_contiguous():
        return borrowed
    dense = _dense(shape, example.dtype)
    return lambda tensor: dense(tensor.data_ptr())


def _in_steps(tensor: torch.Tensor) -> Array:
    """Of a tensor whose elements lie in another order, or apart."""
    size = tensor.element_size()
    if not tensor.numel():
        return np.zeros(tuple(tensor.shape), dtype_named(NAMES[tensor.dtype]))
    steps = [stride * size for stride in tensor.stride()]
    count = size + sum((extent - 1) * step for extent, step in zip(tensor.shape, steps, strict=True))
    array: Array = np.ndarray(tuple(tensor.shape), _KINDS[tensor.dtype], _bytes_at(count)(tensor.data_ptr()), 0, steps)
    return array.view(ml_dtypes.bfloat16) if tensor.dtype is torch.bfloat16 else array
