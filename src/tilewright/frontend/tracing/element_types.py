"""Element types and positions: conversions, and whole numbers that are computed where they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.tracing.integers import whole
from tilewright.frontend.tracing.location import unsupported, user_location
from tilewright.frontend.tracing.maps import apply_map, record_map
from tilewright.frontend.tracing.recorder import INTEGERS, current_recorder
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders import elementwise
from tilewright.graph.scalar import Load
from tilewright.graph.types import Extent, SymbolicExtent


def astype(x: Any, dtype: Any) -> Any:
    """The values of `x` in another element type, converted as C does. Kernels convert to integers what is one already."""
    name = np.dtype(dtype).name
    if name == x.tensor.dtype:
        return x
    if name == "bool":
        return apply_map("not_equal", x, 0)
    if x.recorder.element_types is not None and name in INTEGERS and not np.can_cast(x.dtype, name):
        why = f"kernels compute whole numbers without wrapping them, and not all {x.dtype} values are {name}"
        raise DTypeError(f"{x.dtype} values as {name}", where=user_location(), why=why, hint="use floor, or a wider type")
    return record_map("astype", Load(0), (x,), dtype=name)


def _number_of_steps(first: float, last: float, by: float) -> Extent:
    """The length of a range, as NumPy counts it. Raises `ShapeError` where there is none."""
    try:
        return elementwise.range_length(first, last, by)
    except (ZeroDivisionError, OverflowError, ValueError) as problem:
        raise ShapeError(f"a range from {first} to {last} in steps of {by} has no length", where="arange") from problem


def arange(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """`start, start + step, ...` below `stop` (a single argument is the stop), of shape (number,); whole unless told otherwise.

    Inside a traced function these are positions along an axis: they take no memory, and whoever reads them computes them. Start
    and stop may be extents known at run time. Raises `ShapeError` for positions beyond 2^24.

    >>> arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    start, stop = (0, start) if stop is None else (start, stop)
    recorder = current_recorder()
    if recorder is None:
        return np.arange(start, stop, step, dtype=dtype)
    first, last, by = map(_bound, (start, stop, step))
    if any(isinstance(bound, SymbolicExtent) for bound in (first, last, by)):
        if isinstance(by, SymbolicExtent) or any(isinstance(bound, float) for bound in (first, last, by)) or by == 0:
            raise unsupported("arange to or from an extent by other steps than whole ones", (), hint="multiply the positions")
        number, kind = elementwise.range_length(first, last, by), np.dtype(dtype or np.int64).name
    else:
        number, kind = _number_of_steps(first, last, by), np.arange(first, first, by, dtype=dtype).dtype.name
    return Traced(recorder, recorder.record(elementwise.arange, number, first, by, kind, kind="arange"))


def extent(value: Any) -> Any:
    """An extent as a number: itself, or, if it is known at run time only, a traced integer of shape ()."""
    recorder = current_recorder()
    if recorder is None or not isinstance(value, SymbolicExtent):
        return value
    return Traced(recorder, recorder.record(elementwise.extent, whole(value), kind="extent"))


def _bound(value: Any) -> Any:
    """A start, a stop or a step: a number or a symbolic extent."""
    return value if isinstance(value, float) else whole(value)
