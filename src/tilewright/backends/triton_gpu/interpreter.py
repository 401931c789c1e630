"""What Triton's interpreter gets wrong, mended while it runs kernels.

Triton 3.9.0 keeps bfloat16 as numbers of 16 bits, and multiplies these bits in `tl.dot` (`create_dot` converts floats of 8 bits
alone). Products of bfloat16 are exact in float32.
"""

from __future__ import annotations

from typing import Any


def mend() -> None:
    """Have `tl.dot` widen bfloat16 in the interpreter of this process."""
    from triton.runtime.interpreter import InterpreterBuilder

    known = InterpreterBuilder.create_dot
    if getattr(known, "widens", False):
        return

    def create_dot(self: Any, left: Any, right: Any, *rest: Any) -> Any:
        return known(self, _widened(self, left), _widened(self, right), *rest)

    create_dot.widens = True  # type: ignore[attr-defined]
    InterpreterBuilder.create_dot = create_dot


def _widened(builder: Any, operand: Any) -> Any:
    import triton.language as tl

    return builder.cast_impl(operand, tl.float32) if operand.dtype.scalar == tl.bfloat16 else operand
