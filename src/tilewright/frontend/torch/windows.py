"""Numbers of windows as ATen gives them: one for all dimensions, or one each; and results without elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.frontend.torch.call import Call
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Tensor, planned_extent


def as_numbers(call: Call, name: str) -> tuple[int, ...]:
    """An operand that is a number or a list of such. Raises `UnsupportedOperation` for extents at run time."""
    given = call[name]
    found = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not all(isinstance(value, int) for value in found):
        raise call.refuse(f"{name} is known at run time only")
    return found


def per_dimension(numbers: Sequence[int], rank: int) -> tuple[int, ...]:
    """A number for each dimension.

    >>> per_dimension((2,), 3)
    (2, 2, 2)
    """
    return tuple(numbers) if len(numbers) == rank else tuple(numbers) * rank


def nothing(call: Call) -> Tensor:
    """The result of a call that has no elements. Raises `UnsupportedOperation` where it has some, or may have."""
    shape = call.result.shape
    if 0 not in shape or not are_known(shape):
        raise call.refuse("a tensor without elements")
    return call.builder.constant(np.zeros(tuple(map(planned_extent, shape)), dtype_named(call.result.dtype)), "nothing")
