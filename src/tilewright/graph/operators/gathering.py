"""Elements at positions that data gives: Gather, GatherElements and GatherND of ONNX.

    gather(x, ids, axis)[.., i.., ..]          = x[.., ids[i..], ..]
    gather_elements(x, ids, axis)[.., i, ..]   = x[.., ids[.., i, ..], ..]
    gather_nd(x, ids, b)[b.., i.., rest..]     = x[b.., ids[b.., i.., 0], .., ids[b.., i.., k - 1], rest..]

Reads of x look the positions up in reads of the ids. Positions outside of x raise `PositionError`: those that are known when the
graph is built, then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.operators.elementwise import accumulator_of
from tilewright.graph.positions import check_positions
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import Shape, normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, Extent, Operator, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

INDEX_TYPES = ("int32", "int64")


def gather(x: Tensor, ids: Tensor, axis: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The slices of `x` along `axis` at the positions `ids`, whose dimensions take that axis's place.

    >>> operator, tensor = gather(Tensor("words", (100, 8)), Tensor("ids", (2, 3), "int64"), name="gather", result="y")
    >>> tensor.shape, operator.reads[1].lookups
    ((2, 3, 8), ((0, 0),))
    """
    where = _checked(x, ids, "Gather")
    chosen = normalize_axis(axis, len(x.shape), where)
    shape = (*x.shape[:chosen], *ids.shape, *x.shape[chosen + 1 :])
    rank = len(ids.shape)
    own = tuple(axis_index(f"d{chosen + d}") for d in range(rank))
    indices = tuple(
        constant(0) if d == chosen else axis_index(f"d{d if d < chosen else d + rank - 1}") for d in range(len(x.shape))
    )
    return _looked_up("gather", x, shape, indices, {chosen: Access(ids.name, own)}, name, result)


def gather_elements(x: Tensor, ids: Tensor, axis: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """For every element of `ids` the element of `x` at its position, but for `axis`, along which `ids` says the position.

    >>> gather_elements(Tensor("x", (5, 4)), Tensor("ids", (2, 4), "int64"), name="gather", result="y")[1].shape
    (2, 4)
    """
    where = _checked(x, ids, "GatherElements")
    chosen = normalize_axis(axis, len(x.shape), where)
    if len(ids.shape) != len(x.shape) or any(
        not _fits(own, extent) for d, (own, extent) in enumerate(zip(ids.shape, x.shape, strict=True)) if d != chosen
    ):
        raise ShapeError("indices and data do not lie over each other", where=where)
    own = tuple(axis_index(f"d{d}") for d in range(len(ids.shape)))
    indices = tuple(constant(0) if d == chosen else index for d, index in enumerate(own))
    return _looked_up("gather", x, ids.shape, indices, {chosen: Access(ids.name, own)}, name, result)


def gather_nd(x: Tensor, ids: Tensor, batch_dims: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The slices of `x` at the positions that the last dimension of `ids` holds, behind `batch_dims` common dimensions.

    >>> gather_nd(Tensor("x", (5, 4, 3)), Tensor("ids", (7, 2), "int64"), name="gather", result="y")[1].shape
    (7, 3)
    """
    where = _checked(x, ids, "GatherND")
    depth = ids.shape[-1] if ids.shape else 0
    if not isinstance(depth, int) or not 0 <= batch_dims < len(ids.shape) or batch_dims + depth > len(x.shape):
        raise ShapeError(f"{depth} positions behind {batch_dims} common dimensions", where=where)
    if not depth or ids.shape[:batch_dims] != x.shape[:batch_dims]:
        raise ShapeError("the common dimensions differ, or there are no positions", where=where)
    shape = (*ids.shape[:-1], *x.shape[batch_dims + depth :])
    own = tuple(axis_index(f"d{d}") for d in range(len(ids.shape) - 1))
    rest = (axis_index(f"d{d}") for d in range(len(own), len(shape)))
    indices = (*own[:batch_dims], *(constant(0) for _ in range(depth)), *rest)
    lookups = {batch_dims + k: Access(ids.name, (*own, constant(k))) for k in range(depth)}
    return _looked_up("gather", x, shape, indices, lookups, name, result)


def _fits(own: object, extent: object) -> bool:
    return own == extent or (isinstance(own, int) and isinstance(extent, int) and own <= extent)


def _checked(x: Tensor, ids: Tensor, kind: str) -> str:
    where = f"{kind} of {shape_text(x.shape)} by {shape_text(ids.shape)}"
    if ids.dtype not in INDEX_TYPES:
        raise DTypeError(f"positions of type {ids.dtype}", where=where, hint=f"they are {' or '.join(INDEX_TYPES)}")
    return where


def _looked_up(
    kind: str, x: Tensor, shape: Shape, indices: tuple[Index, ...], lookups: dict[int, Access], name: str, result: str
) -> tuple[Operator, Tensor]:
    """A map that reads `x` where `lookups` say by dimension; those of no extent have no position to be held to."""
    if any(x.shape[dimension] == 0 for dimension in lookups) and 0 not in shape:
        raise ShapeError("there is nothing to choose from", where=f"{kind} of {shape_text(x.shape)}")
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    reads = (*lookups.values(), Access(x.name, indices, lookups=tuple((d, n) for n, d in enumerate(lookups))))
    write = Access(result, tuple(axis_index(a.name) for a in axes))
    operator = Operator(name, kind, axes, reads, write, Load(len(lookups)), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


def meaning_gather(x: Any, ids: Any, *, axis: int = 0) -> Any:
    """The same by NumPy."""
    check_positions(ids, x.shape[axis], "Gather")
    return np.take(x, ids, axis=axis)


def meaning_gather_elements(x: Any, ids: Any, *, axis: int = 0) -> Any:
    """The same by NumPy."""
    axis = normalize_axis(axis, x.ndim, "GatherElements")
    check_positions(ids, x.shape[axis], "GatherElements")
    own = tuple(slice(extent) if d != axis else slice(None) for d, extent in enumerate(ids.shape))
    return np.take_along_axis(x[own], ids, axis)


def meaning_gather_nd(x: Any, ids: Any, *, batch_dims: int = 0) -> Any:
    """The same by NumPy."""
    depth = ids.shape[-1]
    if batch_dims + depth > x.ndim:
        raise ShapeError(f"{depth} positions behind {batch_dims} common dimensions", where=f"GatherND of {x.shape}")
    for k in range(depth):
        check_positions(ids[..., k], x.shape[batch_dims + k], "GatherND")
    rank = ids.ndim - 1
    common = tuple(np.arange(ids.shape[d]).reshape(_along(d, rank)) for d in range(batch_dims))
    return x[(*common, *(ids[..., k] for k in range(depth)))]


def _along(dimension: int, rank: int) -> tuple[int, ...]:
    return tuple(-1 if d == dimension else 1 for d in range(rank))


def lower_gather(builder: Builder, x: Tensor, ids: Tensor, *, axis: int = 0) -> Tensor:
    """A map with a lookup; positions that are known and evenly spaced are a slice."""
    _check_type(x, "Gather")
    chosen = normalize_axis(axis, len(x.shape), "Gather")
    _check_known(builder.known.get(ids.name), x.shape[chosen], "Gather")
    part = _as_slice(builder.known.get(ids.name), x.shape[chosen])
    if part is not None:
        return builder.slice(x, (slice(None),) * chosen + (part,))
    return builder.record(gather, x, ids, chosen, kind="gather")


def _as_slice(ids: Any, extent: Extent) -> int | slice | None:
    """One position, or the range that a vector of positions inside of the extent is; None if that is not known."""
    if ids is None or ids.ndim > 1 or not ids.size or not isinstance(extent, int) or ids.dtype.hasobject:
        return None
    first, *others = (int(position) % extent for position in ids.reshape(-1))
    if ids.ndim == 0:
        return first
    step = others[0] - first if others else 1
    stop = first + step * ids.size
    is_range = step != 0 and others == list(range(first + step, stop, step))
    return slice(first, None if stop < 0 else stop, step) if is_range else None


def lower_gather_elements(builder: Builder, x: Tensor, ids: Tensor, *, axis: int = 0) -> Tensor:
    """A map with a lookup."""
    _check_type(x, "GatherElements")
    _check_known(builder.known.get(ids.name), x.shape[normalize_axis(axis, len(x.shape), "GatherElements")], "GatherElements")
    return builder.record(gather_elements, x, ids, axis, kind="gather")


def lower_gather_nd(builder: Builder, x: Tensor, ids: Tensor, *, batch_dims: int = 0) -> Tensor:
    """A map with a lookup for every position."""
    _check_type(x, "GatherND")
    result = builder.record(gather_nd, x, ids, batch_dims, kind="gather")
    if (known := builder.known.get(ids.name)) is not None:
        for k in range(known.shape[-1]):
            _check_known(known[..., k], x.shape[batch_dims + k], "GatherND")
    return result


def _check_known(ids: Any, extent: Extent, kind: str) -> None:
    """Raise `PositionError` where contents that are known are outside of an extent that is."""
    if ids is not None and isinstance(extent, int) and not ids.dtype.hasobject:
        check_positions(ids, extent, kind)


def _check_type(x: Tensor, kind: str) -> None:
    if np.dtype(x.dtype if x.dtype != "bfloat16" else "float32").hasobject:
        raise UnsupportedOperation(f"{kind} of strings in generated code")


define("Gather", meaning_gather, lower_gather)
define("GatherElements", meaning_gather_elements, lower_gather_elements, since=11)
define("GatherND", meaning_gather_nd, lower_gather_nd, since=11)
