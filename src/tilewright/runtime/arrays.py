"""Foreign arrays: reading them without a copy, and giving results back in the caller's kind."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tilewright.dtypes import BITS, dtype_named
from tilewright.errors import DTypeError, UnsupportedOperation

Array = np.ndarray[Any, np.dtype[Any]]
NUMPY = np.ndarray


def as_array(x: object) -> Array:
    """A NumPy view of an array's memory: NumPy, torch CPU tensors, `__dlpack__`, the buffer protocol, `__array__`.

    Element types are kept as they are. Raises `DTypeError` for what is no array, and `UnsupportedOperation` for a tensor that
    requires a gradient or lives on another device.

    >>> import array
    >>> as_array(array.array("f", [1, 2])).dtype.name
    'float32'
    """
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):  # numpy.ma takes 10 ms to import
            why = "kernels compute every element"
            raise DTypeError("a masked array cannot be passed", why=why, hint="pass x.filled(value), or the mask as an array")
        return x
    if is_torch_tensor(x):
        return _from_torch(x)
    if hasattr(x, "__dlpack__"):
        return _from_dlpack(x)
    try:
        return np.asarray(memoryview(x))  # type: ignore[arg-type]
    except TypeError:
        if hasattr(x, "__array__"):
            return np.asarray(x)
    raise DTypeError(
        f"cannot read a {type(x).__qualname__} as an array",
        why="it is no NumPy array or torch tensor, and has neither __dlpack__ nor a buffer",
        hint="convert it first: numpy.asarray(x, dtype=numpy.float32)",
    )


HOST_DEVICES = (1, 3, 11)
"""Of DLPack: memory that the CPU reads (kDLCPU, kDLCUDAHost, kDLROCMHost)."""


def is_on_device(x: object) -> bool:
    """Whether x is a tensor in memory of a device that is no CPU.

    >>> is_on_device(np.zeros(2)), is_on_device(1.0)
    (False, False)
    """
    if isinstance(x, np.ndarray):
        return False
    if is_torch_tensor(x):
        return bool(x.device.type != "cpu")  # type: ignore[attr-defined]
    tell = getattr(x, "__dlpack_device__", None)
    return tell is not None and tell()[0] not in HOST_DEVICES


def outline(x: Any) -> Array:
    """An array of the shape and the element type of a tensor of a device, without its elements.

    Raises `DTypeError` for element types that NumPy and ml_dtypes have not.
    """
    name = str(x.dtype).rpartition(".")[2]
    try:
        return np.broadcast_to(np.zeros((), dtype_named(name)), tuple(x.shape))
    except TypeError as problem:
        raise DTypeError(f"a tensor of {x.dtype} cannot be passed to a kernel", why="NumPy has no such type") from problem


def views(values: tuple[Any, ...]) -> tuple[Array, ...] | None:
    """What `as_array` gives for NumPy arrays and torch tensors, in a hurry; None where anything needs more care.

    >>> views((1.0,)) is None
    True
    """
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if tensor is not None and differentiates_forward():
        return None
    arrays = []
    for value in values:
        if type(value) is tensor:
            try:
                value = value.numpy()
            except (TypeError, RuntimeError):
                return None
        elif type(value) is not NUMPY:
            return None
        arrays.append(value)
    return tuple(arrays)


def like(first: object, array: Array) -> object:
    """`array` in the kind of `first`: a torch tensor, another library's array by DLPack, else NumPy; memory is shared.

    What a device makes in memory of its own stays what it is.

    >>> import numpy as np
    >>> type(like(memoryview(b"x"), np.zeros(2))).__name__
    'ndarray'
    """
    if isinstance(first, np.ndarray) or not isinstance(array, np.ndarray):
        return array
    if is_torch_tensor(first):
        return _to_torch(array)
    namespace = getattr(first, "__array_namespace__", None)
    if hasattr(first, "__dlpack__") and namespace is not None:
        return namespace().from_dlpack(array)
    return array


def is_torch_tensor(x: object) -> bool:
    """Whether x is a torch tensor or of a subclass; torch is never imported for the answer.

    >>> is_torch_tensor([1.0])
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def differentiates_forward() -> bool:
    """Whether torch differentiates forward: tensors may be dual then."""
    forward = sys.modules.get("torch.autograd.forward_ad")
    return forward is not None and forward._current_level >= 0


def refuse_tangent(x: Any) -> None:
    """Raise `UnsupportedOperation` for a dual tensor of torch: its tangent would be lost."""
    if differentiates_forward() and sys.modules["torch.autograd.forward_ad"].unpack_dual(x).tangent is not None:
        why, hint = "kernels compute no derivatives", "pass torch.autograd.forward_ad.unpack_dual(x).primal"
        raise UnsupportedOperation("a tensor with a tangent cannot be passed to a kernel", why=why, hint=hint)


def _from_torch(x: Any) -> Array:
    refuse_tangent(x)
    try:
        array: Array = x.numpy()
    except (TypeError, RuntimeError) as problem:
        return _explained_torch(x, problem)
    return array


def _explained_torch(x: Any, problem: Exception) -> Array:
    """What NumPy has no type for is seen as bits, and what cannot be passed is refused in words."""
    if x.requires_grad:
        raise UnsupportedOperation(
            "a tensor that requires a gradient cannot be passed to a kernel",
            why="kernels compute no gradients",
            hint="pass x.detach()",
        )
    if x.device.type != "cpu":
        raise UnsupportedOperation(
            f"a tensor on device {x.device} cannot be passed to a kernel", why="kernels run on the CPU", hint="pass x.cpu()"
        )
    name = str(x.dtype).removeprefix("torch.")
    if name in BITS and x.layout == sys.modules["torch"].strided:
        bits: Array = x.view(getattr(sys.modules["torch"], BITS[name])).numpy()
        return bits.view(dtype_named(name))
    raise UnsupportedOperation(  # sparse and quantised tensors, conjugate views, subclasses without storage
        f"a tensor of type {x.dtype} and layout {x.layout} cannot be passed to a kernel", why=str(problem)
    ) from problem


def _to_torch(array: Array) -> object:
    torch = sys.modules["torch"]
    if array.dtype.isbuiltin != 1:
        name = array.dtype.name  # takes as long as all else
        if name in BITS and hasattr(torch, name):
            return torch.from_numpy(array.view(BITS[name])).view(getattr(torch, name))
    return torch.from_numpy(array)


def _from_dlpack(x: Any) -> Array:
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError) as problem:
        raise UnsupportedOperation(
            f"a {type(x).__qualname__} cannot be read through DLPack", why=str(problem), hint="copy it to a NumPy array first"
        ) from problem
