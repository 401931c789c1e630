"""Resize: a tensor interpolated at other positions along its axes; Upsample, and Resize without attributes: at o / scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from math import floor, prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.image.interpolation import BEFORE_11, Mode, Resampling, lowered, resized
from tilewright.frontend.onnx.operators.image.run_time_resampling import RunTimeResampling, run_time_lowered
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.extents import SymbolicExtent, least_extent
from tilewright.graph.shapes import are_known, normalize_axis, shape_text
from tilewright.graph.types import Tensor


@onnx_operator("Resize", since=11)
class Resize:
    """A tensor of `sizes`, or `scales` times as large, along `axes`."""

    antialias: int = 0
    axes: Sequence[int] | None = None
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"

    def reference(self, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
        how = self._mode()
        given = tuple(
            None if operand is None or not np.size(operand) else np.reshape(operand, -1).tolist()
            for operand in (scales, sizes, roi)
        )
        found = resamplings(x.shape, self.axes, given, self.keep_aspect_ratio_policy, how)
        return resized(x, found, how, self.extrapolation_value)

    def lower(
        self, builder: Builder, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
    ) -> Tensor:
        """Index changes and look-ups where the nearest elements are wanted, else one map of the taps per axis."""
        how = self._mode()
        factors, extents = (
            None if operand is None else builder.constant_value(operand).reshape(-1).tolist() or None
            for operand in (scales, sizes)
        )
        if self.coordinate_transformation_mode == "tf_crop_and_resize":
            raise UnsupportedOperation(
                "Resize of a part of a tensor", where="Resize", why="elements outside have a value of their own"
            )
        return resampled(builder, x, self.axes, (factors, extents), self.keep_aspect_ratio_policy, how)

    def _mode(self) -> Mode:
        return Mode(
            self.mode,
            self.coordinate_transformation_mode,
            self.nearest_mode,
            self.cubic_coeff_a,
            bool(self.exclude_outside),
            bool(self.antialias),
        )


def resampled(builder: Builder, x: Tensor, axes: Sequence[int] | None, given: tuple[Any, Any], policy: str, how: Mode) -> Tensor:
    """The tensor resized along axes by given scales or sizes: first along those of known extents and sizes."""
    along, wanted = _along(x.shape, axes, *given)
    known = [place for place, d in enumerate(along) if are_known((x.shape[d], wanted[place]))]
    if len(known) == len(along):
        return lowered(builder, x, resamplings(x.shape, axes, (*given, None), policy, how), how)
    if policy != "stretch":
        raise UnsupportedOperation(f"Resize of {shape_text(x.shape)} with the policy {policy!r}", where="Resize")
    is_scaled = given[0] is not None
    fixed = [wanted[place] for place in known]
    chosen = (fixed, None, None) if is_scaled else (None, fixed, None)
    y = lowered(builder, x, resamplings(x.shape, [along[place] for place in known], chosen, policy, how), how)
    dynamic = {d: wanted[place] for place, d in enumerate(along) if place not in known}
    found = {
        d: RunTimeResampling.by(x.shape[d], size) if is_scaled else RunTimeResampling(x.shape[d], size)
        for d, size in dynamic.items()
    }
    return run_time_lowered(builder, y, found, how)


def _along(shape: Sequence[Any], axes: Sequence[int] | None, scales: Any, sizes: Any) -> tuple[list[int], Any]:
    """The axes, and the scale or size of each. Raises `ShapeError` where they do not fit."""
    rank = len(shape)
    along = list(range(rank)) if axes is None else [normalize_axis(axis, rank, where="Resize") for axis in axes]
    wanted = sizes if scales is None else scales
    text = f"Resize of {shape_text(shape)} to {wanted}"
    if wanted is None or len(wanted) != len(along) or (scales is not None and sizes is not None):
        raise ShapeError(text, where="Resize", why="either scales or sizes are given, one for every axis")
    if not all(least_extent(n) > 0 if isinstance(n, SymbolicExtent) else n > 0 for n in wanted):
        raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
    return along, wanted


def resamplings(
    shape: Sequence[Any], axes: Sequence[int] | None, given: tuple[Any, ...], policy: str, how: Mode
) -> dict[int, Resampling]:
    """How every axis is resized that is named, by `given` scales or sizes, and regions; raises `ShapeError`."""
    scales, sizes, roi = given
    along, wanted = _along(shape, axes, scales, sizes)
    text = f"Resize of {shape_text(shape)} to {wanted}"
    if any(shape[d] < 1 for d in along):
        raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
    extents = [int(shape[d]) for d in along]
    factors, outputs = _factors(extents, scales, sizes, policy)
    if prod(outputs) > MOST_ELEMENTS:
        raise UnsupportedOperation(text, where="Resize", why="it is absurdly large")
    half = len(along)
    crops = [(roi[i], roi[i + half]) if roi and how.transformation == "tf_crop_and_resize" else (0.0, 1.0) for i in range(half)]
    found = zip(along, extents, outputs, factors, crops, strict=True)
    return {d: Resampling(extent, output, factor, crop) for d, extent, output, factor, crop in found}


def _factors(extents: Sequence[int], scales: Any, sizes: Any, policy: str) -> tuple[list[float], list[int]]:
    if scales is not None:
        return [float(s) for s in scales], [floor(e * float(np.float32(s))) for e, s in zip(extents, scales, strict=True)]
    factors = [int(s) / e for e, s in zip(extents, sizes, strict=True)]
    if policy == "stretch":
        return factors, [int(s) for s in sizes]
    common = min(factors) if policy == "not_larger" else max(factors)
    return [common] * len(factors), [floor(common * e + 0.5) for e in extents]


@onnx_operator("Resize", since=10)
@onnx_operator("Upsample", since=7, by_attribute={"scales": MISSING})
@onnx_operator("Upsample", since=9)
class ResizeBefore11:
    """A tensor `scales` times as large."""

    mode: str = "nearest"

    def reference(self, x: Any, scales: Any) -> Any:
        found = resamplings(x.shape, None, (np.reshape(scales, -1).tolist(), None, None), "stretch", self._mode())
        return resized(x, found, self._mode(), 0.0)

    def lower(self, builder: Builder, x: Tensor, scales: Tensor) -> Tensor:
        known = builder.constant_value(scales).reshape(-1).tolist()
        return resampled(builder, x, None, (known, None), "stretch", self._mode())

    def _mode(self) -> Mode:
        return Mode(self.mode, "asymmetric", BEFORE_11)
