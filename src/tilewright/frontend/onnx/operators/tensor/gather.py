"""Elements at positions that another tensor gives, and choices by contents.

Gathers and scatters: elements at given positions, read, or replaced in a copy. Compress, NonZero, Unique and OneHot: choices by
contents, and positions as choices. ReverseSequence: the first elements along one axis in reverse, as many as is said for every
position of another axis.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of, map_of, points
from tilewright.graph.builders.reshape import gather, gather_elements, gather_nd
from tilewright.graph.expressions.index import constant
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.positions import BY_LENGTH, check_lengths, check_positions
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Extent, Operator, Tensor


@onnx_operator("Gather")
class Gather:
    """Slices along an axis."""

    axis: int = 0

    def reference(self, x: Any, ids: Any) -> Any:
        check_positions(ids, x.shape[self.axis], "Gather")
        return np.take(x, ids, axis=self.axis)

    def lower(self, builder: Builder, x: Tensor, ids: Tensor) -> Tensor:
        """A map with a lookup; positions that are known and evenly spaced are a slice."""
        chosen = normalize_axis(self.axis, len(x.shape), "Gather")
        _check_known(builder.known.get(ids.name), x.shape[chosen], "Gather")
        part = _as_slice(builder.known.get(ids.name), x.shape[chosen])
        if part is not None:
            return builder.slice(x, (slice(None),) * chosen + (part,))
        return builder.record(gather, x, ids, chosen, kind="gather")


@onnx_operator("GatherElements", since=11)
class GatherElements(SchemaAttributes):
    """One element for every position, along an axis."""

    def reference(self, x: Any, ids: Any) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "GatherElements")
        check_positions(ids, x.shape[axis], "GatherElements")
        region = tuple(slice(extent) if d != axis else slice(None) for d, extent in enumerate(ids.shape))
        return np.take_along_axis(x[region], ids, axis)

    def lower(self, builder: Builder, x: Tensor, ids: Tensor) -> Tensor:
        """A map with a lookup."""
        extent = x.shape[normalize_axis(self.axis, len(x.shape), "GatherElements")]
        _check_known(builder.known.get(ids.name), extent, "GatherElements")
        return builder.record(gather_elements, x, ids, self.axis, kind="gather")


@onnx_operator("GatherND", since=11)
class GatherND(SchemaAttributes):
    """Slices at positions of several dimensions, behind `batch_dims` that both have."""

    def reference(self, x: Any, ids: Any) -> Any:
        depth = ids.shape[-1]
        if self.batch_dims + depth > x.ndim:
            raise ShapeError(f"{depth} positions behind {self.batch_dims} common dimensions", where=f"GatherND of {x.shape}")
        for k in range(depth):
            check_positions(ids[..., k], x.shape[self.batch_dims + k], "GatherND")
        common = _grid(ids.shape[:-1])[: self.batch_dims]
        return x[(*common, *(ids[..., k] for k in range(depth)))]

    def lower(self, builder: Builder, x: Tensor, ids: Tensor) -> Tensor:
        """A map with a lookup for every position."""
        result = builder.record(gather_nd, x, ids, self.batch_dims, kind="gather")
        if (known := builder.known.get(ids.name)) is not None:
            for k in range(known.shape[-1]):
                _check_known(known[..., k], x.shape[self.batch_dims + k], "GatherND")
        return result


def _as_slice(ids: Any, extent: Extent) -> int | slice | None:
    """One position, or the range that a vector of positions inside of the extent is; None if that is not known."""
    if ids is None or ids.ndim > 1 or not ids.size or not isinstance(extent, int) or ids.dtype.hasobject:
        return None
    first, *rest = (int(position) % extent for position in ids.reshape(-1))
    if ids.ndim == 0:
        return first
    step = rest[0] - first if rest else 1
    stop = first + step * ids.size
    is_range = step != 0 and rest == list(range(first + step, stop, step))
    return slice(first, None if stop < 0 else stop, step) if is_range else None


def _check_known(ids: Any, extent: Extent, kind: str) -> None:
    """Raise `PositionError` where known positions are outside of a known extent."""
    if ids is not None and isinstance(extent, int) and not ids.dtype.hasobject:
        check_positions(ids, extent, kind)


REDUCTIONS = MappingProxyType({"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum})


@onnx_operator("Scatter", since=9)
@onnx_operator("ScatterElements", since=11)
class ScatterElements(SchemaAttributes):
    """`x` with x[.., ids[i..], ..] = updates[i..] for every element of `ids`."""

    reduction = "none"
    """Of Scatter, and before opset 16."""

    def reference(self, x: Any, ids: Any, updates: Any) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "ScatterElements")
        if ids.shape != updates.shape or ids.ndim != x.ndim:
            raise ShapeError(f"indices {ids.shape} and updates {updates.shape}", where=f"ScatterElements into {x.shape}")
        places = _grid(ids.shape)
        places[axis] = ids
        return _scattered(x, tuple(places), updates, self.reduction)


@onnx_function("ScatterND", since=11)
def scatter_nd(x: Any, ids: Any, updates: Any, *, reduction: Any) -> Any:
    """`x` with x[ids[i.., 0], .., ids[i.., k - 1]] = updates[i..]."""
    depth = ids.shape[-1]
    if depth > x.ndim or updates.shape != (*ids.shape[:-1], *x.shape[depth:]):
        raise ShapeError(f"indices {ids.shape} and updates {updates.shape}", where=f"ScatterND into {x.shape}")
    return _scattered(x, tuple(ids[..., k] for k in range(depth)), updates, reduction)


@onnx_function("TensorScatter", since=24)
def tensor_scatter(past: Any, update: Any, write_indices: Any = None, *, axis: Any, mode: Any) -> Any:
    """A cache with new entries along `axis`, from a position that every batch item has; `circular` ones begin anew at the end."""
    along = normalize_axis(axis, past.ndim, "TensorScatter")
    starts = np.zeros(past.shape[0], np.int64) if write_indices is None else np.asarray(write_indices)
    if along == 0 or update.ndim != past.ndim or starts.shape != past.shape[:1]:
        raise ShapeError(f"an update of shape {update.shape} along axis {along}", where=f"TensorScatter into {past.shape}")
    places = _grid(update.shape)
    places[along] = places[along] + starts.reshape((-1,) + (1,) * (past.ndim - 1))
    if mode == "circular":
        places[along] = places[along] % past.shape[along]
    return _scattered(past, tuple(places), update, "none")


def _scattered(x: Any, places: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    """A copy of `x` in which the elements at `places` are the updates, or combined with them, one after the other."""
    result = np.array(x)
    for place, extent in zip(places, x.shape, strict=False):
        check_positions(place, extent, "scatter")
    if reduction == "none":
        result[places] = updates
    elif reduction in REDUCTIONS:
        REDUCTIONS[reduction].at(result, places, updates)
    else:
        raise UnsupportedOperation(f"the reduction {reduction!r} of a scatter", hint=f"choose from {', '.join(REDUCTIONS)}")
    return result


def _grid(shape: tuple[int, ...]) -> list[Any]:
    """The positions of all elements of a shape, one array per dimension."""
    return [np.broadcast_to(positions, shape) for positions in np.ogrid[tuple(slice(extent) for extent in shape)]]


@onnx_function("Compress", since=9)
def compress(x: Any, condition: Any, *, axis: Any) -> Any:
    """The slices along an axis, or the elements in row-major order; a condition that ends early leaves out the rest."""
    values = x.reshape(-1) if axis is None else x
    chosen = np.asarray(condition, bool).reshape(-1)
    return np.compress(chosen, values, axis=0 if axis is None else axis)


@onnx_function("NonZero", since=9)
def non_zero(x: Any) -> Any:
    """One column for every position, in row-major order."""
    found = np.nonzero(x if x.ndim else x.reshape(1))
    return np.asarray(found[: x.ndim], np.int64).reshape(x.ndim, len(found[0]))


@onnx_function("Unique", since=11)
def unique(x: Any, *, axis: Any, sorted: Any) -> Any:
    """The distinct ones, where each occurs first, which of them every element is, and how often they occur."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        inverse = np.argsort(order, kind="stable")[inverse]
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
    return values, *(positions.astype(np.int64) for positions in (first, inverse, counts))


@onnx_operator("OneHot", since=9)
class OneHot(SchemaAttributes):
    """Negative elements count from the end; those outside give the value of all others everywhere."""

    def reference(self, ids: Any, depth: Any, values: Any) -> Any:
        count = int(np.asarray(depth).reshape(-1)[0])
        place = normalize_axis(self.axis, ids.ndim + 1, "OneHot")
        check_size((*ids.shape, count), "OneHot")
        along = np.arange(count).reshape([-1 if d == place else 1 for d in range(ids.ndim + 1)])
        positions = np.expand_dims(ids, place)
        return np.where((positions == along) | (positions == along - count), values[1], values[0])

    def lower(self, builder: Builder, ids: Tensor, depth: Tensor, values: Tensor) -> Tensor:
        """A comparison with the positions along the new dimension."""
        (count,) = builder.constant_value(depth).reshape(-1).tolist()
        if values.shape != (2,):
            raise ShapeError("the values of OneHot are two", where="OneHot")
        if not isinstance(count, int | float) or not 0 <= count < 1 << 24:
            raise UnsupportedOperation(f"OneHot of depth {count}")
        mask = builder.record(_is_hot, ids, int(count), self.axis, kind="is_hot")
        return builder.record(_chosen, mask, values, kind="one_hot")


def _is_hot(ids: Tensor, depth: int, axis: int = -1, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Whether the position along the new `axis`, of extent `depth`, is the element of `ids`: negative ones count from the end.

    Compared in the type of `ids`: that of the values may not hold them.

    >>> _is_hot(Tensor("ids", (3,), "int64"), 5, name="is_hot", result="y")[1].shape
    (3, 5)
    """
    place = normalize_axis(axis, len(ids.shape) + 1, "OneHot")
    shape = (*ids.shape[:place], depth, *ids.shape[place:])
    read = Access(ids.name, tuple(index for d, index in enumerate(points(len(shape))) if d != place))
    position = AxisValue(f"d{place}")
    body = apply("equal", Load(0), position)
    if not ids.dtype.startswith("uint"):
        body = apply("logical_or", body, apply("equal", Load(0), apply("subtract", position, Literal(float(depth)))))
    return map_of("is_hot", shape, [read], body, "bool", name, result, accumulator_of(ids.dtype))


def _chosen(mask: Tensor, values: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`values[1]` where a mask holds, else `values[0]`."""
    reads = [Access(mask.name, points(len(mask.shape))), *(Access(values.name, (constant(number),)) for number in range(2))]
    return map_of("one_hot", mask.shape, reads, apply("where", Load(0), Load(2), Load(1)), values.dtype, name, result)


@onnx_operator("ReverseSequence", since=10)
class ReverseSequence(SchemaAttributes):
    """Batch and time are the first two dimensions, in any order."""

    def reference(self, x: Any, lengths: Any) -> Any:
        self._check(x.shape, lengths.shape)
        extent = x.shape[self.time_axis]
        check_lengths(lengths, extent, "ReverseSequence")
        time = np.arange(extent)
        places = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
        ordered = places if self.time_axis else places.T
        return np.take_along_axis(x, ordered.reshape(*ordered.shape, *(1,) * (x.ndim - 2)), self.time_axis)

    def lower(self, builder: Builder, x: Tensor, lengths: Tensor) -> Tensor:
        """Positions from the lengths, and a map that looks them up."""
        self._check(x.shape, lengths.shape)
        places = builder.record(_positions, lengths, x.shape[self.time_axis], kind="positions")
        return builder.record(_reversed, x, places, self.batch_axis, self.time_axis, kind="reverse_sequence")

    def _check(self, shape: Any, lengths: Any) -> None:
        batch, time = self.batch_axis, self.time_axis
        if {batch, time} != {0, 1} or len(shape) < 2 or tuple(lengths) != (shape[batch],):
            where = f"ReverseSequence of {tuple(shape)}"
            raise ShapeError(f"lengths {tuple(lengths)}, batch axis {batch} and time axis {time}", where=where)


def _positions(lengths: Tensor, extent: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """[batch, time]: where the element at a time is read: outside, if the length is below 0 or above the extent (`BY_LENGTH`)."""
    time = AxisValue("d1")
    length, most = Load(0), Literal(float(extent))
    last = apply("subtract", length, Literal(1.0))
    inside = apply("where", apply("less", time, length), apply("subtract", last, time), time)
    at_most = apply("where", apply("less", most, length), length, inside)
    body = apply("where", apply("less", length, Literal(0.0)), apply("subtract", length, most), at_most)
    return map_of("positions", (lengths.shape[0], extent), [Access(lengths.name, points(1))], body, "int64", name, result)


def _reversed(x: Tensor, places: Tensor, batch: int, time: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    outputs = points(len(x.shape))
    indices = tuple(constant(0) if d == time else index for d, index in enumerate(outputs))
    reads = (Access(places.name, (outputs[batch], outputs[time])), Access(x.name, indices, lookups=((time, 0),)))
    return map_of(BY_LENGTH, x.shape, reads, Load(1), x.dtype, name, result, computed=x.dtype)
