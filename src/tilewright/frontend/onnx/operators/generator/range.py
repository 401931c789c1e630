"""Range: evenly spaced numbers, as many as fit before a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import arange, range_length
from tilewright.graph.numpy_types import is_short_float
from tilewright.graph.types import Extent, SymbolicExtent, Tensor, planned_extent

SMALL = 1024
"""Numbers up to which they are a constant."""

STASH_TYPES = ("float32", "float64")
"""Types that ONNX's reference implementation computes short floating-point numbers in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """start, start + delta, ... before the limit; short floating-point numbers are computed in `stash_type`."""

    stash_type: int = 1

    def reference(self, start: Any, limit: Any, delta: Any) -> Any:
        dtype = np.asarray(start).dtype
        computed = self._computed_in(dtype)
        first, last, step = (np.asarray(operand, computed).reshape(-1)[0] for operand in (start, limit, delta))
        if step == 0:
            raise ShapeError("a range with steps of 0", where="Range")
        (count,) = check_size([planned_extent(range_length(first.item(), last.item(), step.item()))], "Range")
        positions = np.arange(count).astype(computed) if dtype.kind in "iu" or computed != dtype else np.arange(count)
        with np.errstate(over="ignore"):
            return (first + positions * step).astype(dtype)

    def lower(self, builder: Builder, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
        """Constants, or the positions along an axis: 0, 1, ... up to an extent that is known at run time, too."""
        first, last, step = (builder.constant_value(operand).reshape(-1)[0] for operand in (start, limit, delta))
        if any(isinstance(number, SymbolicExtent) for number in (first, last, step)):
            if isinstance(step, SymbolicExtent) or step == 0:
                raise UnsupportedOperation(f"Range from {first} to {last} by {step}", why="its step is known at run time")
            count = range_length(_exact(first), _exact(last), int(step))
            return builder.record(arange, count, _exact(first), int(step), start.dtype, kind="arange")
        numbers = self.reference(*(np.asarray(number, start.dtype) for number in (first, last, step)))
        if numbers.size <= SMALL or not float(step).is_integer() or not float(first).is_integer():
            return builder.constant(numbers)
        try:
            return builder.record(arange, numbers.size, float(first), float(step), start.dtype, kind="arange")
        except ShapeError:
            return builder.constant(numbers)

    def _computed_in(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type that numbers are computed in. Raises `UnsupportedOperation` for a stash type that ONNX gives no meaning."""
        if not is_short_float(dtype):
            return dtype
        stash = element_type(self.stash_type)
        if stash.name not in STASH_TYPES:
            why = f"{dtype} is computed in {' or '.join(STASH_TYPES)}"
            raise UnsupportedOperation(f"Range with stash_type {stash}", where="Range", why=why)
        return stash


def _exact(number: Any) -> Extent:
    return number if isinstance(number, SymbolicExtent) else int(number)


define("Range", Range, since=11)
