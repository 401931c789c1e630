"""Tensors as arrays that neither own their memory nor change what torch may do with it.

`Tensor.numpy` would forbid to resize the tensor, for ever, and keep it alive.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import torch

from tilewright.dtypes import dtype_named
from tilewright.frontend.torch.element_types import NAMES

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_KINDS = {dtype: np.dtype(np.uint16).str if dtype is torch.bfloat16 else np.dtype(name).str for dtype, name in NAMES.items()}
"""By element type, how NumPy is told of it; it has no bfloat16 of its own."""


class _Memory:
    """Memory that somebody else owns, as NumPy asks for it."""

    __slots__ = ("__array_interface__",)
    __array_interface__: dict[str, Any]


def borrowed(tensor: torch.Tensor) -> Array:
    """The elements of a tensor in its memory, while somebody holds the tensor: it is strided, in the CPU's memory, and no view
    that conjugates or negates.

    >>> weight = torch.arange(6.0).reshape(2, 3)
    >>> borrowed(weight.T).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    if not tensor.numel():
        return np.zeros(tuple(tensor.shape), dtype_named(NAMES[tensor.dtype]))
    memory, place = _Memory(), (tensor.data_ptr(), False)
    interface = {"version": 3, "data": place, "typestr": _KINDS[tensor.dtype], "shape": tuple(tensor.shape)}
    if not tensor.is_contiguous():
        size = tensor.element_size()
        interface["strides"] = tuple([stride * size for stride in tensor.stride()])
    memory.__array_interface__ = interface
    array = np.asarray(memory)
    return array.view(ml_dtypes.bfloat16) if tensor.dtype is torch.bfloat16 else array
