"""Pad of ONNX and NumPy: dimensions continued by a constant, by their last elements, mirrored or periodically.

    constant: the elements outside are one value, which a guard gives
    edge:     x[min(max(i, 0), n - 1)]
    wrap:     x[i mod n]
    reflect:  x[n - 1 - |n - 1 - (i mod (2 n - 2))|]

All but wrapping are pieces along the axis, in which the index is affine; generated code walks them one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.builders.concatenate import concatenate
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.pad import Pads, pad
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import constant
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, Operator, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

MODES = ("constant", "reflect", "edge", "wrap")


def _pads(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> Pads:
    """The pads of every dimension: all those before, then all those behind, of the dimensions `axes`."""
    chosen = range(rank) if axes is None else [normalize_axis(axis, rank, "Pad") for axis in axes]
    if len(pads) != 2 * len(chosen) or len(set(chosen)) < len(chosen):
        raise ShapeError(f"{len(pads)} pads for {len(chosen)} dimensions", where="Pad")
    found = [(0, 0)] * rank
    for number, axis in enumerate(chosen):
        found[axis] = (int(pads[number]), int(pads[number + len(chosen)]))
    return tuple(found)


def meaning(x: Any, pads: Any, constant_value: Any = None, axes: Any = None, *, mode: str = "constant") -> Any:
    """The same by NumPy; what is negative is cut off first."""
    own = _pads(np.asarray(pads).tolist(), None if axes is None else np.asarray(axes).tolist(), x.ndim)
    mode = _mode(mode)
    where = f"Pad of {x.shape}"
    check_size([extent + sum(ends) for extent, ends in zip(x.shape, own, strict=True)], where)
    cut = x[tuple(slice(max(0, -a), extent - max(0, -b)) for (a, b), extent in zip(own, x.shape, strict=True))]
    grown = [(max(0, before), max(0, behind)) for before, behind in own]
    if mode == "constant":
        empty = np.zeros((), x.dtype) if x.dtype != object else ""
        return np.pad(cut, grown, constant_values=empty if constant_value is None else np.asarray(constant_value).reshape(()))
    if any(sum(ends) and not extent for ends, extent in zip(grown, cut.shape, strict=True)):
        raise ShapeError("nothing to continue", where=where)
    return np.pad(cut, grown, mode=mode)  # type: ignore[call-overload]


def lower(
    builder: Builder, x: Tensor, pads: Any, constant_value: Any = None, axes: Tensor | None = None, *, mode: str = "constant"
) -> Tensor:
    """A guarded map for a constant; else, axis by axis, a concatenation of slices."""
    mode = _mode(mode)
    own = _pads(_integers(builder, pads), None if axes is None else _integers(builder, axes), len(x.shape))
    if not any(before or behind for before, behind in own):
        return x
    if mode == "constant":
        if isinstance(constant_value, Tensor):
            constant_value = builder.contents(constant_value).reshape(-1)[0]
        return builder.record(pad, x, own, _fill(0 if constant_value is None else constant_value, x.dtype), kind="pad")
    for axis, (before, behind) in enumerate(own):
        x = _continued(builder, x, axis, before, behind, mode)
    return x


def _fill(value: Any, dtype: str) -> float:
    """The constant around an array of a type; raises `UnsupportedOperation` where a float does not hold it."""
    if "complex" in dtype or isinstance(value, str | bytes):
        raise UnsupportedOperation(f"Pad of {dtype} by {value!r} in generated code")
    number = float(value)
    if "float" not in dtype and not (number.is_integer() and int(number) == int(value)):
        raise UnsupportedOperation(f"Pad of {dtype} by {value}", why="no float is that number")
    return number


def _integers(builder: Builder, values: Any) -> list[int]:
    found = builder.integers(values) if isinstance(values, Tensor) else tuple(values)
    if not all(isinstance(one, int) for one in found):
        raise UnsupportedOperation("Pad by extents that are known at run time")
    return [int(one) for one in found if isinstance(one, int)]


def _continued(builder: Builder, x: Tensor, axis: int, before: int, behind: int, mode: str) -> Tensor:
    """One axis continued by slices of itself, in pieces that step one way."""
    extent = x.shape[axis]
    if before == behind == 0:
        return x
    if not isinstance(extent, int):
        raise UnsupportedOperation(f"padding of {extent}, which is known at run time", where=f"Pad of {shape_text(x.shape)}")
    first, last = max(0, -before), extent - max(0, -behind)
    runs = _runs(last - first, max(0, before), max(0, behind), mode)
    if last <= first or len(runs) > 8:
        raise UnsupportedOperation(f"Pad by ({before}, {behind}) of a dimension of {extent} in {len(runs)} pieces")
    parts = [_run(builder, x, axis, first + start, count, step) for start, count, step in runs]
    return parts[0] if len(parts) == 1 else builder.record(concatenate, parts, axis, kind="concat")


def _run(builder: Builder, x: Tensor, axis: int, start: int, count: int, step: int) -> Tensor:
    """`count` positions from `start` on; those of step 0 are all the same."""
    if step == 0:
        one = builder.slice(x, (slice(None),) * axis + (slice(start, start + 1),))
        return builder.record(_repeated, one, axis, count, kind="repeat")
    stop = start + step * count
    return builder.slice(x, (slice(None),) * axis + (slice(start, None if stop < 0 else stop, step),))


def _repeated(x: Tensor, axis: int, count: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A dimension of one element, that element so many times."""
    shape = tuple(count if d == axis else extent for d, extent in enumerate(x.shape))
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    own = tuple(axis_index(a.name) for a in axes)
    read = Access(x.name, tuple(constant(0) if d == axis else index for d, index in enumerate(own)))
    operator = Operator(name, "broadcast", axes, (read,), Access(result, own), Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


def _runs(extent: int, before: int, behind: int, mode: str) -> list[tuple[int, int, int]]:
    """The positions that stand side by side after padding: (start, how many, step) of runs of one step.

    >>> _runs(4, 2, 1, "reflect"), _runs(4, 2, 1, "edge"), _runs(4, 2, 1, "wrap")
    ([(2, 2, -1), (0, 4, 1), (2, 1, 1)], [(0, 2, 0), (0, 4, 1), (3, 1, 1)], [(2, 2, 1), (0, 4, 1), (0, 1, 1)])
    """
    if extent < 1:
        return []
    positions = np.pad(np.arange(extent), (before, behind), mode=mode)  # type: ignore[call-overload]
    runs = [(int(positions[0]), 1, 1)]
    for number, (old, new) in enumerate(pairwise(positions), start=1):
        start, count, step = runs[-1]
        at_end = number in (before, before + extent)
        if not at_end and (count == 1 or new - old == step) and abs(new - old) <= 1:
            runs[-1] = (start, count + 1, int(new - old))
        else:
            runs.append((int(new), 1, 1))
    return runs


def _mode(mode: Any) -> str:
    name = mode.decode() if isinstance(mode, bytes) else str(mode)
    if name not in MODES:
        raise UnsupportedOperation(f"Pad in mode {name!r}", hint=f"choose from {', '.join(MODES)}")
    return name


def _attribute_meaning(x: Any, *, pads: Any, mode: str = "constant", value: float = 0.0) -> Any:
    """The same by NumPy, with pads and value as attributes."""
    return meaning(x, pads, np.asarray(value, x.dtype), mode=mode)


def _attribute_lower(builder: Builder, x: Tensor, *, pads: Any, mode: str = "constant", value: float = 0.0) -> Tensor:
    return lower(builder, x, pads, value, mode=mode)


define("Pad", _attribute_meaning, _attribute_lower, since=2)
define("Pad", meaning, lower, since=11)
