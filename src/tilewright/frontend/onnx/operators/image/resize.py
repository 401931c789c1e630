"""Resize: a tensor interpolated at other positions along its axes; Upsample, and Resize without attributes: at o / scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, replace
from math import floor, prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.image.interpolation import BEFORE_11, Mode, Resampling, lowered, resized
from tilewright.frontend.onnx.operators.image.run_time_resampling import RunTimeResampling, run_time_lowered
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import SymbolicExtent, least_extent
from tilewright.graph.shapes import are_known, normalize_axis, shape_text
from tilewright.graph.types import Tensor


@onnx_operator("Resize", since=11)
class Resize(Mode):
    """A tensor of `sizes`, or `scales` times as large, along `axes`."""

    axes: Sequence[int] | None = None
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"

    def reference(self, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
        given = (
            None if operand is None or not np.size(operand) else np.reshape(operand, -1).tolist()
            for operand in (scales, sizes, roi)
        )
        return resized(x, self._resamplings(x.shape, *given), self, self.extrapolation_value)

    def lower(
        self, builder: Builder, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
    ) -> Tensor:
        """Index changes and look-ups where the nearest elements are wanted, else one map of the taps per axis.

        Axes of known extents and sizes are resized first.
        """
        factors, extents = (
            None if operand is None else builder.constant_value(operand).reshape(-1).tolist() or None
            for operand in (scales, sizes)
        )
        if self.coordinate_transformation_mode == "tf_crop_and_resize":
            why = "elements outside have a value of their own"
            raise UnsupportedOperation("Resize of a part of a tensor", where="Resize", why=why)
        along, wanted = self._along(x.shape, factors, extents)
        known = [place for place, d in enumerate(along) if are_known((x.shape[d], wanted[place]))]
        if len(known) == len(along):
            return lowered(builder, x, self._resamplings(x.shape, factors, extents), self)
        if self.keep_aspect_ratio_policy != "stretch":
            text = f"Resize of {shape_text(x.shape)} with the policy {self.keep_aspect_ratio_policy!r}"
            raise UnsupportedOperation(text, where="Resize")
        fixed, some = replace(self, axes=tuple(along[place] for place in known)), [wanted[place] for place in known]
        chosen = (some, None) if factors is not None else (None, some)
        y = lowered(builder, x, fixed._resamplings(x.shape, *chosen), self)
        make = RunTimeResampling if factors is None else RunTimeResampling.by
        found = {d: make(x.shape[d], wanted[place]) for place, d in enumerate(along) if place not in known}
        return run_time_lowered(builder, y, found, self)

    def _along(self, shape: Sequence[Any], scales: Any, sizes: Any) -> tuple[list[int], Any]:
        """The axes, and the scale or size of each. Raises `ShapeError` where they do not fit."""
        rank, axes = len(shape), self.axes
        along = list(range(rank)) if axes is None else [normalize_axis(axis, rank, where="Resize") for axis in axes]
        wanted = sizes if scales is None else scales
        text = f"Resize of {shape_text(shape)} to {wanted}"
        if wanted is None or len(wanted) != len(along) or (scales is not None and sizes is not None):
            raise ShapeError(text, where="Resize", why="either scales or sizes are given, one for every axis")
        if not all(least_extent(n) > 0 if isinstance(n, SymbolicExtent) else n > 0 for n in wanted):
            raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
        return along, wanted

    def _resamplings(self, shape: Sequence[Any], scales: Any, sizes: Any, roi: Any = None) -> dict[int, Resampling]:
        """How every axis is resized that is named; raises `ShapeError`."""
        along, wanted = self._along(shape, scales, sizes)
        text = f"Resize of {shape_text(shape)} to {wanted}"
        if any(shape[d] < 1 for d in along):
            raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
        extents = [int(shape[d]) for d in along]
        factors, outputs = _factors(extents, scales, sizes, self.keep_aspect_ratio_policy)
        if prod(outputs) > MOST_ELEMENTS:
            raise UnsupportedOperation(text, where="Resize", why="it is absurdly large")
        half, is_cropped = len(along), roi and self.coordinate_transformation_mode == "tf_crop_and_resize"
        crops = [(roi[i], roi[i + half]) if is_cropped else (0.0, 1.0) for i in range(half)]
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
class ResizeBefore11(Composed):
    """A tensor `scales` times as large."""

    mode: str = "nearest"

    def composed(self, call: Call, known: Known, x: Any, scales: Any) -> Any:
        later = Resize(mode=self.mode, coordinate_transformation_mode="asymmetric", nearest_mode=BEFORE_11)
        return call(later)(x, scales=scales)
