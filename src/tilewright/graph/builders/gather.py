"""Gathers: elements at positions that data gives.

    gather(x, ids, axis)[.., i.., ..]          = x[.., ids[i..], ..]
    gather_elements(x, ids, axis)[.., i, ..]   = x[.., ids[.., i, ..], ..]
    gather_nd(x, ids, b)[b.., i.., rest..]     = x[b.., ids[b.., i.., 0], .., ids[b.., i.., k - 1], rest..]

Reads of x look the positions up in reads of the ids. Positions outside of x raise `PositionError`: those that are known when the
graph is built, then.
"""

from __future__ import annotations

from tilewright.errors import DTypeError, ShapeError
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import Shape, normalize_axis, shape_text
from tilewright.graph.types import Access, Operator, Tensor

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
    id_indices = tuple(axis_index(f"d{chosen + d}") for d in range(rank))
    indices = tuple(
        constant(0) if d == chosen else axis_index(f"d{d if d < chosen else d + rank - 1}") for d in range(len(x.shape))
    )
    return _looked_up("gather", x, shape, indices, {chosen: Access(ids.name, id_indices)}, name, result)


def gather_elements(x: Tensor, ids: Tensor, axis: int = 0, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """For every element of `ids` the element of `x` at its position, but for `axis`, along which `ids` says the position.

    >>> gather_elements(Tensor("x", (5, 4)), Tensor("ids", (2, 4), "int64"), name="gather", result="y")[1].shape
    (2, 4)
    """
    where = _checked(x, ids, "GatherElements")
    chosen = normalize_axis(axis, len(x.shape), where)
    if len(ids.shape) != len(x.shape) or any(
        not _fits(length, extent) for d, (length, extent) in enumerate(zip(ids.shape, x.shape, strict=True)) if d != chosen
    ):
        raise ShapeError("indices and data do not lie over each other", where=where)
    id_indices = points(len(ids.shape))
    indices = tuple(constant(0) if d == chosen else index for d, index in enumerate(id_indices))
    return _looked_up("gather", x, ids.shape, indices, {chosen: Access(ids.name, id_indices)}, name, result)


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
    id_indices, rest = points(len(ids.shape) - 1), points(len(shape))[len(ids.shape) - 1 :]
    indices = (*id_indices[:batch_dims], *(constant(0) for _ in range(depth)), *rest)
    lookups = {batch_dims + k: Access(ids.name, (*id_indices, constant(k))) for k in range(depth)}
    return _looked_up("gather", x, shape, indices, lookups, name, result)


def _fits(length: object, extent: object) -> bool:
    return length == extent or (isinstance(length, int) and isinstance(extent, int) and length <= extent)


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
    reads = (*lookups.values(), Access(x.name, indices, lookups=tuple((d, n) for n, d in enumerate(lookups))))
    return map_of(kind, shape, reads, Load(len(lookups)), x.dtype, name, result)
