"""OneHot: a new dimension, in which the position that an element names has one value and all others another."""

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


define("OneHot", OneHot, since=9)
