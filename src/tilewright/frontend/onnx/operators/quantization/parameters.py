"""Checks of scales and zero points: a damaged quantised model computes numbers that look like results.

Values are known where parameters are constants, as they nearly always are; those that a call computes are taken as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor

WIDE = ("float16", "float32", "float64", "int32", "int64", "uint32", "uint64", "bfloat16", "bool")
"""Types that are never a quantised result."""
WHERE = "quantisation"
"""Where a parameter is wrong; sessions add the node."""


def check_zero_type(zero: Any, quantised: Any, what: str, where: str = WHERE) -> None:
    """Raise `InvalidModel` unless a zero point has the type of the numbers that are counted from it; arrays or tensors.

    >>> check_zero_type(np.int8(3), np.ones(4, np.uint8), "x")
    Traceback (most recent call last):
    ...
    tilewright.errors.InvalidModel: the zero point of x is int8, and x is uint8
      where: quantisation
      why: ONNX gives both one type: read as another type, a zero point is off by up to 256
      hint: make the zero point uint8
    """
    if zero is not None and _name(zero) != _name(quantised):
        raise InvalidModel(
            f"the zero point of {what} is {_name(zero)}, and {what} is {_name(quantised)}",
            where=where,
            why="ONNX gives both one type: read as another type, a zero point is off by up to 256",
            hint=f"make the zero point {_name(quantised)}",
        )


def check_output_type(zero: Any, declared: str | None, what: str) -> None:
    """Raise `InvalidModel` for a zero point of a type that nothing is quantised to, or of another type than is declared."""
    if zero is not None and _name(zero) in WIDE:
        raise InvalidModel(
            f"the zero point of {what} is {_name(zero)}",
            where=WHERE,
            why="its type is that of the result, which has 2 to 16 bits",
            hint="make the zero point uint8 or int8",
        )
    if zero is not None and declared is not None and _name(zero) != declared:
        raise InvalidModel(
            f"the zero point of {what} is {_name(zero)}, and output_dtype is {declared}",
            where=WHERE,
            why="the result has one type",
            hint="leave out output_dtype, or make both the same",
        )


def check_scale(builder: Builder, scale: Tensor, what: str, *, divides: bool) -> None:
    """Raise `InvalidModel` for a scale that is no floating-point number, or a constant one that is no scale."""
    if not scale.dtype.startswith(("float", "bfloat")):
        raise InvalidModel(f"the scale of {what} is {scale.dtype}", where=WHERE, why="scales are floating-point numbers")
    if scale.name in builder.known:
        check_scale_values(builder.known[scale.name], what, divides=divides)


def check_scale_values(scale: Any, what: str, *, divides: bool, where: str = WHERE) -> None:
    """Raise `InvalidModel` for scales that are negative, NaN, infinite, or 0 where numbers are divided by them.

    Numbers multiplied by a scale of 0 are 0: tools write it for channels without weights.
    """
    values = np.asarray(scale, np.float64)
    is_wrong = ~np.isfinite(values) | (values < 0) | (divides & (values == 0))
    if is_wrong.any():
        place = tuple(map(int, np.argwhere(is_wrong)[0]))
        raise InvalidModel(
            f"the scale of {what}{f' at {list(place)}' if place else ''} is {float(values[place])}",
            where=where,
            why="a scale is positive and finite: numbers are " + ("divided" if divides else "multiplied") + " by it",
            hint="quantise the model again; tools write such scales for ranges that they have not seen",
        )


def _name(array: Any) -> str:
    """The name of an element type."""
    return str(array.dtype)
