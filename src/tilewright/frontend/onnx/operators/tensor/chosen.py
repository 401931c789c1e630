"""Compress, NonZero, Unique and OneHot: choices by contents, and positions as choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of, map_of, points
from tilewright.graph.index import constant
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Compress:
    """The slices along an axis, or the elements in row-major order; a condition that ends early leaves out the rest."""

    axis: int | None = None

    def reference(self, x: Any, condition: Any) -> Any:
        values = x.reshape(-1) if self.axis is None else x
        chosen = np.asarray(condition, bool).reshape(-1)
        return np.compress(chosen, values, axis=0 if self.axis is None else self.axis)


class NonZero:
    """One column for every position, in row-major order."""

    def reference(self, x: Any) -> Any:
        found = np.nonzero(x if x.ndim else x.reshape(1))
        return np.asarray(found[: x.ndim], np.int64).reshape(x.ndim, len(found[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """The distinct ones, where each occurs first, which of them every element is, and how often they occur."""

    axis: int | None = None
    sorted: int = 1

    def reference(self, x: Any) -> Any:
        values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=self.axis)
        inverse = inverse.reshape(-1)
        if not self.sorted:
            order = np.argsort(first, kind="stable")
            inverse = np.argsort(order, kind="stable")[inverse]
            values, first, counts = np.take(values, order, axis=self.axis or 0), first[order], counts[order]
        return values, *(positions.astype(np.int64) for positions in (first, inverse, counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHot:
    """Negative elements count from the end; those outside give the value of all others everywhere."""

    axis: int = -1

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


define("Compress", Compress, since=9)
define("NonZero", NonZero, since=9)
define("Unique", Unique, since=11)
define("OneHot", OneHot, since=9)
