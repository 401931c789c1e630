"""Samples of images at points that a grid names, between pixels linearly or the nearest pixel; grids of affine maps.

Points are computed as ATen's CPU kernels compute them, with a factor of half the extent, so that the same pixels are nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.frontend.torch.bodies import X, Y, Z, add, multiply
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import accumulator_of, map_of, points
from tilewright.graph.expressions.extents import Extent, minus
from tilewright.graph.expressions.index import constant
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply, fold, scalar_of
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Access, Operator, Tensor

LINEAR, NEAREST = 0, 1
ZEROS, BORDER = 0, 1
"""What lies outside of an image."""


@lowers("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(call: Call) -> Tensor:
    """Of images [images, channels, ...], at the points in -1..1, of which the first coordinate goes along the last dimension."""
    mode, padding, wide = call["interpolation_mode"], call["padding_mode"], wide_type(call.result.dtype)
    x, grid = call.tensor("input"), call.tensor("grid", wide)
    extents = x.shape[2:]
    if mode not in (LINEAR, NEAREST) or padding not in (ZEROS, BORDER):
        raise call.refuse("cubic interpolation, or reflection")
    if 0 in call.result.shape or 0 in x.shape:
        raise call.refuse("no elements")
    places = [_place(call, grid, number, extent) for number, extent in enumerate(reversed(extents))][::-1]
    taps = (0,) if mode == NEAREST else (0, 1)
    near = [[_position(call, place, extent, tap) for tap in taps] for place, extent in zip(places, extents, strict=True)]
    return call.builder.record(_sampled, x, places, near, call.result.dtype, kind="samples")


@lowers("aten.affine_grid_generator.default")
def affine_grid(call: Call) -> Tensor:
    """The points that matrices [images, n, n + 1] give for the pixels of images [images, channels, ...]."""
    theta, extents = call.tensor("theta"), call["size"][2:]
    if theta.dtype not in ("float32", "float64") or not are_known(extents) or 0 in extents:
        raise call.refuse("halves, or extents that are not known")
    rank = len(extents)
    columns = [call.builder.slice(theta, (slice(None), slice(None), column)) for column in range(rank + 1)]
    columns = [call.builder.reshape(column, (theta.shape[0], *(1,) * rank, rank)) for column in columns]
    total = columns[-1]
    for along, extent in enumerate(extents):
        line = _line(extent, theta.dtype, is_at_ends=call["align_corners"])
        at = call.builder.constant(line.reshape(*(extent if d == along else 1 for d in range(rank)), 1))
        total = call.body(add(multiply(X, Y), Z), at, columns[rank - 1 - along], total)
    return total


def _line(extent: int, dtype: str, *, is_at_ends: bool) -> np.ndarray[Any, Any]:
    """Where pixels lie in -1..1: the outer ones at its ends, or half a pixel before."""
    if extent == 1:
        return np.zeros(1, dtype)
    ends = 1 if is_at_ends else (extent - 1) / extent
    return (np.linspace(-1, 1, extent) * ends).astype(dtype)


def _place(call: Call, grid: Tensor, number: int, extent: Extent) -> Tensor:
    """Where points lie along a dimension, in pixels; nearest ones are whole."""
    coordinate = call.builder.slice(grid, (..., number))
    half = apply("multiply", scalar_of(minus(extent, 1) if call["align_corners"] else extent), Literal(0.5))
    place: Scalar = apply("multiply", apply("add", Load(0), Literal(1.0)), half)
    if not call["align_corners"]:
        place = apply("subtract", place, Literal(0.5))
    if call["padding_mode"] == BORDER:
        held = apply("minimum", apply("maximum", place, Literal(0.0)), scalar_of(minus(extent, 1)))
        place = apply("where", apply("isnan", place), Literal(0.0), held)
    if call["interpolation_mode"] == NEAREST:
        place = apply("round", place)
    return call.builder.body(place, coordinate, dtype=grid.dtype, kind="places")


def _position(call: Call, place: Tensor, extent: Extent, tap: int) -> Tensor:
    """The pixel before a place, or behind it; the next pixel of the image where there is none."""
    last = scalar_of(minus(extent, 1))
    held = apply("minimum", apply("maximum", _pixel(Load(0), tap), Literal(0.0)), last)
    inside = apply("where", apply("isnan", Load(0)), Literal(0.0), held)
    return call.builder.body(inside, place, dtype="int64", accumulator=place.dtype, kind="positions")


def _pixel(place: Scalar, tap: int) -> Scalar:
    return apply("add", apply("floor", place), Literal(1.0)) if tap else apply("floor", place)


def _sampled(
    x: Tensor, places: list[Tensor], near: list[list[Tensor]], dtype: str, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The weighted sum of the pixels around each point; those outside of the image are 0."""
    rank, taps = len(places), len(near[0])
    out = (*x.shape[:2], *places[0].shape[1:])
    here = points(len(out))
    point = (here[0], *here[2:])
    lookups = [Access(tensor.name, point) for group in near for tensor in group]
    reads = [*lookups, *(Access(place.name, point) for place in places)]
    terms: list[Scalar] = []
    for corner in range(taps**rank):
        tap = [corner // taps**d % taps for d in range(rank)]
        added = tuple((2 + d, taps * d + tap[d]) for d in range(rank))
        terms.append(_term(Load(len(reads)), [Load(len(lookups) + d) for d in range(rank)], tap, x.shape[2:], taps))
        reads.append(Access(x.name, (*here[:2], *(constant(0) for _ in range(rank))), lookups=added))
    return map_of("samples", out, reads, fold("add", terms), dtype, name, result, accumulator_of(places[0].dtype))


def _term(pixel: Scalar, places: list[Load], tap: list[int], extents: Sequence[Extent], taps: int) -> Scalar:
    """A pixel, or 0 outside of the image, times its weights, which are NaN at places that are no numbers."""
    weights: list[Scalar] = []
    inside: list[Scalar] = []
    for place, side, extent in zip(places, tap, extents, strict=True):
        at = _pixel(place, side)
        inside += [apply("greater_equal", at, Literal(0.0)), apply("less", at, scalar_of(extent))]
        if taps > 1:
            part = apply("subtract", place, apply("floor", place))
            weights.append(part if side else apply("subtract", Literal(1.0), part))
    return fold("multiply", [apply("where", fold("logical_and", inside), pixel, Literal(0.0)), *weights])
