"""Axes resampled: elements at other positions, and weighted sums of taps.

Taps alone are read: in a product with a matrix of all weights, most of them 0, a NaN or an infinity would be in every result,
since 0 times it is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import copy_of, map_of, points
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.index import Index, axis, constant, floordiv
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply, fold
from tilewright.graph.types import Access, Operator, Tensor


def picked(builder: Builder, x: Tensor, places: Mapping[int, Any]) -> Tensor:
    """The elements at these positions along some dimensions: at regular steps by indices, others are looked up.

    >>> builder = Builder("f")
    >>> x = builder.input("x", (2, 3), "float32")
    >>> picked(builder, x, {1: np.array([0, 0, 1, 1, 2, 2])}).shape, [operator.kind for operator in builder.operators]
    ((2, 6), ['resize'])
    """
    regular = {d: found for d, found in places.items() if _step(axis(f"d{d}"), x.shape[d], found) is not None}
    x = builder.record(_stepped, x, regular, kind="resize")
    for d in sorted(places.keys() - regular.keys()):
        x = builder.record(gather, x, builder.constant(places[d], "nearest"), d, kind="gather")
    return x


def _stepped(x: Tensor, found: dict[int, Any], *, name: str, result: str) -> tuple[Operator, Tensor]:
    shape = tuple(len(found[d]) if d in found else extent for d, extent in enumerate(x.shape))
    steps = {d: _step(axis(f"d{d}"), x.shape[d], places) for d, places in found.items()}
    indices = [steps.get(d) or index for d, index in enumerate(points(len(shape)))]
    return copy_of("resize", x, shape, indices, name, result)


def _step(place: Index, extent: Any, nearest: Any) -> Index | None:
    """Positions as an index: a quotient, or a multiple and an offset; None if they are neither."""
    output = len(nearest)
    if output == 0:
        return place
    places, first = np.arange(output), int(nearest[0])
    factor = output // extent
    if factor and output == factor * extent and np.array_equal(nearest, places // factor):
        return floordiv(place, factor)
    step = int(nearest[1]) - first if output > 1 else 1
    if np.array_equal(nearest, places * step + first):
        return place * step + first
    return None


def weighted_sums(builder: Builder, x: Tensor, d: int, places: Any, weights: Any, counts: Any = None) -> Tensor:
    """The sum over k of `weights[k, o] x[.., places[k, o], ..]` at every output o of dimension d.

    Both arrays are (taps, outputs); of `counts` (outputs), if there are such, no further taps are summed.

    >>> builder = Builder("f")
    >>> x = builder.input("x", (2, 3), "float32")
    >>> weighted_sums(builder, x, 1, np.array([[0, 1], [1, 2]]), np.array([[0.5, 0.5], [0.5, 0.5]])).shape
    (2, 2)
    """
    operands = [builder.constant(places, "taps"), builder.constant(weights.astype(x.dtype), "weights")]
    operands += [] if counts is None else [builder.constant(counts.astype(np.float32), "counts")]
    return builder.record(_weighted, x, *operands, dimension=d, kind="resize")


def _weighted(
    x: Tensor, places: Tensor, weights: Tensor, counts: Tensor | None = None, *, dimension: int, name: str, result: str
) -> tuple[Operator, Tensor]:
    taps, output = weights.shape
    shape = (*x.shape[:dimension], output, *x.shape[dimension + 1 :])
    along = axis(f"d{dimension}")
    indices = tuple(constant(0) if d == dimension else index for d, index in enumerate(points(len(shape))))
    reads: list[Access] = []
    terms: list[Scalar] = []
    for k in range(int(str(taps))):
        place, weight, element = (len(reads) + i for i in range(3))
        reads += [Access(places.name, (constant(k), along)), Access(weights.name, (constant(k), along))]
        reads.append(Access(x.name, indices, lookups=((dimension, place),)))
        term: Scalar = apply("multiply", Load(weight), Load(element))
        if counts is not None and k:
            reads.append(Access(counts.name, (along,)))
            term = apply("where", apply("less", Literal(float(k)), Load(len(reads) - 1)), term, Literal(0.0))
        terms.append(term)
    return map_of("resize", shape, reads, fold("add", terms), x.dtype, name, result)
