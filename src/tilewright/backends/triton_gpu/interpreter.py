"""What Triton's interpreter gets wrong, mended in a process that it runs kernels in.

Triton 3.9.0 keeps bfloat16 as numbers of 16 bits, and multiplies these bits in `tl.dot` (`create_dot` converts floats of 8 bits
alone): products of bfloat16 are exact in float32. It cuts float32 off where it makes bfloat16 of it, and takes float64 for none;
GPUs round to the nearest number, and of two to the even one. Denormal numbers of bfloat16 become others in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def mend() -> None:
    """Mend the interpreter of this process, once."""
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder

    known, cast = InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl
    if getattr(known, "widens", False):
        return

    def cast_impl(self: Any, operand: Any, target: Any) -> Any:
        types = operand.dtype.scalar, target.scalar
        if types == (tl.bfloat16, tl.float32):
            return type(operand)(widened(operand.data), tl.float32)
        if types in ((tl.float32, tl.bfloat16), (tl.float64, tl.bfloat16)):
            return type(operand)(rounded(operand.data.astype(np.float32)), tl.bfloat16)
        return cast(self, operand, target)

    def create_dot(self: Any, left: Any, right: Any, *rest: Any) -> Any:
        return known(self, _widened(self, left), _widened(self, right), *rest)

    create_dot.widens = True  # type: ignore[attr-defined]
    InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl = create_dot, cast_impl


def _widened(builder: Any, operand: Any) -> Any:
    import triton.language as tl

    return builder.cast_impl(operand, tl.float32) if operand.dtype.scalar == tl.bfloat16 else operand


def widened(bits: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """The float32 numbers that bits of bfloat16 stand for.

    >>> [float(number) for number in widened(np.array([0x3F80, 0xC000, 0x0001], np.uint16))]
    [1.0, -2.0, 9.183549615799121e-41]
    """
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(numbers: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    """The bits of the nearest bfloat16 of float32 numbers.

    >>> [hex(bits) for bits in rounded(np.array([1.0, 1.00390625, 1.01171875, np.inf], np.float32))]
    ['0x3f80', '0x3f80', '0x3f82', '0x7f80']
    """
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    near = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), 0x7FC0, near).astype(np.uint16)
