"""Reshape, Flatten, Squeeze, Unsqueeze, Transpose and Identity of ONNX: the same elements in another shape or order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Extent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def _wanted(own: Sequence[Extent], shape: Sequence[Extent], allowzero: int) -> tuple[Extent, ...]:
    """The shape with zeros replaced by the extents at their places, unless they mean themselves."""
    if allowzero:
        return tuple(shape)
    if any(extent == 0 and place >= len(own) for place, extent in enumerate(shape)):
        raise ShapeError(f"shape {shape_text(shape)} copies a dimension that is not there", where=f"Reshape of {shape_text(own)}")
    return tuple(own[place] if extent == 0 else extent for place, extent in enumerate(shape))


def reshape_meaning(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    """The same by NumPy."""
    wanted = _wanted(x.shape, np.asarray(shape).reshape(-1).tolist(), allowzero)
    try:
        return np.reshape(x, wanted)
    except ValueError as problem:
        raise ShapeError(f"{x.shape} into {shape_text(wanted)}", where="Reshape", why=str(problem)) from problem


def reshape_lower(builder: Builder, x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    """An index change."""
    return builder.reshape(x, _wanted(x.shape, builder.integers(shape), allowzero))


def flatten_meaning(x: Any, *, axis: int = 1) -> Any:
    """A matrix: the dimensions before `axis` as rows, the others as columns."""
    axis = _cut(axis, x.ndim)
    return np.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def flatten_lower(builder: Builder, x: Tensor, *, axis: int = 1) -> Tensor:
    """An index change."""
    axis = _cut(axis, len(x.shape))
    return builder.reshape(x, (_product(x.shape[:axis]), _product(x.shape[axis:])))


def _cut(axis: int, rank: int) -> int:
    if not -rank <= axis <= rank:
        raise ShapeError(f"axis {axis} of {rank} dimensions", where="Flatten")
    return axis + rank if axis < 0 else axis


def _product(extents: Sequence[Extent]) -> Extent:
    """The product of extents of which one, if all others are 1, may be a symbol."""
    others = [extent for extent in extents if extent != 1]
    numbers = [extent for extent in others if isinstance(extent, int)]
    if len(numbers) == len(others):
        return math.prod(numbers)
    if len(others) > 1:
        raise UnsupportedOperation(f"the product of {shape_text(extents)} as an extent")
    return others[0]


def squeeze_meaning(x: Any, axes: Any = None) -> Any:
    """The same by NumPy."""
    return np.reshape(x, _squeezed(x.shape, None if axes is None else np.asarray(axes).reshape(-1).tolist()))


def squeeze_lower(builder: Builder, x: Tensor, axes: Tensor | None = None) -> Tensor:
    """An index change."""
    return builder.reshape(x, _squeezed(x.shape, None if axes is None else builder.integers(axes)))


def _squeezed(shape: Sequence[Extent], axes: Sequence[Any] | None) -> tuple[Extent, ...]:
    """The shape without dimensions of extent 1: the chosen ones, or all."""
    where = f"Squeeze of {shape_text(shape)}"
    if axes is None:
        if not all(isinstance(extent, int) for extent in shape):
            raise UnsupportedOperation("Squeeze of all dimensions of extent 1, where some are known at run time", where=where)
        return tuple(extent for extent in shape if extent != 1)
    chosen = {normalize_axis(axis, len(shape), where) for axis in axes}
    if any(shape[axis] != 1 for axis in chosen):
        raise ShapeError(f"axes {sorted(chosen)} have more or less than one element", where=where)
    return tuple(extent for axis, extent in enumerate(shape) if axis not in chosen)


def unsqueeze_meaning(x: Any, axes: Any) -> Any:
    """New dimensions of extent 1 at the places `axes` of the result."""
    return np.reshape(x, _unsqueezed(x.shape, np.asarray(axes).reshape(-1).tolist()))


def unsqueeze_lower(builder: Builder, x: Tensor, axes: Tensor) -> Tensor:
    """An index change."""
    return builder.reshape(x, _unsqueezed(x.shape, builder.integers(axes)))


def _unsqueezed(shape: Sequence[Extent], axes: Sequence[Any]) -> tuple[Extent, ...]:
    rank = len(shape) + len(axes)
    chosen = {normalize_axis(axis, rank, "Unsqueeze") for axis in axes}
    if len(chosen) < len(axes):
        raise ShapeError(f"axes {tuple(axes)} name a dimension twice", where=f"Unsqueeze of {shape_text(shape)}")
    own = iter(shape)
    return tuple(1 if axis in chosen else next(own) for axis in range(rank))


def transpose_meaning(x: Any, *, perm: Any = None) -> Any:
    """The same by NumPy."""
    if perm is not None and sorted(perm) != list(range(x.ndim)):
        raise ShapeError(f"{tuple(perm)} is no permutation of {x.ndim} dimensions", where="Transpose")
    return np.transpose(x, None if perm is None else tuple(perm))


def transpose_lower(builder: Builder, x: Tensor, *, perm: Any = None) -> Tensor:
    """An index change."""
    order = tuple(reversed(range(len(x.shape)))) if perm is None else tuple(perm)
    return x if order == tuple(range(len(x.shape))) else builder.transpose(x, order)


def identity_meaning(x: Any) -> Any:
    """The operand itself, sequences and missing ones included."""
    return x


def identity_lower(builder: Builder, x: Tensor) -> Tensor:
    """Nothing."""
    return x


def _squeeze_attribute_meaning(x: Any, *, axes: Any = None) -> Any:
    """The same by NumPy, with the axes as an attribute."""
    return squeeze_meaning(x, axes)


def _squeeze_attribute_lower(builder: Builder, x: Tensor, *, axes: Any = None) -> Tensor:
    return builder.reshape(x, _squeezed(x.shape, axes))


def _unsqueeze_attribute_meaning(x: Any, *, axes: Any) -> Any:
    """The same by NumPy, with the axes as an attribute."""
    return unsqueeze_meaning(x, axes)


def _unsqueeze_attribute_lower(builder: Builder, x: Tensor, *, axes: Any) -> Tensor:
    return builder.reshape(x, _unsqueezed(x.shape, axes))


define("Reshape", reshape_meaning, reshape_lower, since=5)
define("Flatten", flatten_meaning, flatten_lower)
define("Squeeze", _squeeze_attribute_meaning, _squeeze_attribute_lower)
define("Squeeze", squeeze_meaning, squeeze_lower, since=13)
define("Unsqueeze", _unsqueeze_attribute_meaning, _unsqueeze_attribute_lower)
define("Unsqueeze", unsqueeze_meaning, unsqueeze_lower, since=13)
define("Transpose", transpose_meaning, transpose_lower)
define("Identity", identity_meaning, identity_lower)
