"""Interpolation along an axis: the positions of the results among the elements, and the taps of which each result is made.

Interpolation is linear in the elements and goes axis by axis: a result is the weighted sum of its taps, the two elements around
a position (a triangle) or four (R. Keys, "Cubic convolution interpolation for digital image processing", IEEE TASSP 29, 1981);
with antialias these are as many as a step is wide. Taps alone are read: in a product with a matrix of all weights, most of them
0, a NaN or an infinity would be in every result, since 0 times it is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation

TIE = np.float32(1e-6)
"""How far from the middle between two elements a position is a tie. Source: measured in onnxruntime 1.32, at float32 positions
around 0.5, 1.5 and 2.5: those 9.54e-7 away are ties, those 1.01e-6 away are none."""
BEFORE_11 = "before 11"
"""The nearest elements of Resize-10, whose only statement is its node test: those after a position where the axis shrinks
(0.6 of 1, 2, 3, 4 is 1, 3), else those before it."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How one axis is resized."""

    extent: int
    output: int
    scale: float
    crop: tuple[float, float] = (0.0, 1.0)
    """The part of the axis that is resized, for `tf_crop_and_resize`."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The attributes that say what is interpolated, and where."""

    mode: str = "nearest"
    transformation: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


def is_identity(resampling: Resampling) -> bool:
    """Whether results are the elements themselves."""
    return resampling.extent == resampling.output and resampling.scale == 1.0 and resampling.crop == (0.0, 1.0)


def positions(resampling: Resampling, transformation: str) -> Any:
    """Where every output lies in the input, in float32 as scales are, by onnxruntime's operations in its order."""
    outputs, scale = np.arange(resampling.output, dtype=np.float32), np.float32(resampling.scale)
    half = np.float32(0.5)
    first, last = resampling.crop
    match transformation:
        case "align_corners":
            last_output = resampling.scale * resampling.extent - 1
            return outputs * (resampling.extent - 1) / np.float32(last_output) if last_output > 0 else outputs * 0
        case "asymmetric":
            return outputs / scale
        case "tf_half_pixel_for_nn":
            return (outputs + half) / scale
        case "pytorch_half_pixel":
            return (outputs + half) / scale - half if resampling.output > 1 else outputs
        case "half_pixel":
            return (outputs + half) / scale - half
        case "half_pixel_symmetric":
            adjustment = np.float32(resampling.output) / (scale * np.float32(resampling.extent))
            shift = np.float32(resampling.extent) / 2 * (1 - adjustment)
            centred = (outputs.astype(np.float64) + 0.5) / float(scale) - 0.5
            return (float(shift) + centred).astype(np.float32)
        case "tf_crop_and_resize":
            if resampling.output == 1:
                return outputs + 0.5 * np.float32(first + last) * (resampling.extent - 1)
            return first * (resampling.extent - 1) + outputs * (last - first) * (resampling.extent - 1) / (resampling.output - 1)
    raise UnsupportedOperation(f"Resize by {transformation!r}", where="Resize", why="there is no such transformation")


def nearest_mode(mode: str, scale: float | None) -> str:
    """The mode itself; of Resize-10 what it comes to for a scale, which is always given there."""
    if mode != BEFORE_11 or scale is None:
        return mode
    return "floor" if scale >= 1 else "ceil"


def nearest_positions(resampling: Resampling, how: Mode) -> Any:
    """The element that is nearest to every output.

    A position within `TIE` of the middle between two elements counts as a tie, as in onnxruntime: the roundings of a float32
    position are smaller than that up to the 16th element. An axis that is not resized keeps its elements.

    >>> nearest_positions(Resampling(20, 6, 0.3), Mode(nearest="round_prefer_ceil")).tolist()  # the fifth lies at 14.5
    [1, 5, 8, 11, 15, 18]
    """
    if is_identity(resampling):
        return np.arange(resampling.extent)
    places = positions(resampling, how.transformation)
    low = np.floor(places)
    nearer, is_tie = np.floor(places + 0.5), np.abs(places - low - 0.5) <= TIE
    rounded = {
        "round_prefer_floor": np.where(is_tie, low, nearer),
        "round_prefer_ceil": np.where(is_tie, low + 1, nearer),
        "floor": low,
        "ceil": np.ceil(places),
    }
    mode = nearest_mode(how.nearest, resampling.scale)
    if mode not in rounded:
        raise UnsupportedOperation(f"Resize with nearest_mode {mode!r}", where="Resize")
    return np.clip(rounded[mode], 0, resampling.extent - 1).astype(np.int64)


def taps(resampling: Resampling, how: Mode) -> tuple[Any, Any]:
    """The elements that every output is made of, and their weights, both (taps, outputs). The last element inside stands for
    those outside.

    >>> places, weights = taps(Resampling(2, 4, 2.0), Mode("linear"))
    >>> places.tolist(), weights.tolist()
    ([[0, 0, 0, 1], [1, 1, 1, 1]], [[1.0, 0.75, 0.25, 1.0], [0.0, 0.25, 0.75, 0.0]])
    """
    if how.mode not in ("linear", "cubic"):
        raise UnsupportedOperation(f"Resize by {how.mode!r}", where="Resize", hint="nearest, linear or cubic")
    step = min(resampling.scale, 1.0) if how.antialias else 1.0
    reach = (1 if how.mode == "linear" else 2) / step
    centres = np.asarray(positions(resampling, how.transformation), np.float64)
    if how.mode == "linear" and not how.antialias:
        centres = np.clip(centres, 0, resampling.extent - 1)
    places = np.floor(centres) + np.arange(1 - ceil(reach), 1 + ceil(reach))[:, None]
    weights = _kernel((places - centres) * step, how)
    weights = weights * ((places >= 0) & (places < resampling.extent)) if how.exclude_outside else weights
    if how.antialias:  # what is beyond the reach is no tap
        is_tap = (places > centres - reach) & (places <= centres + reach)
        places = np.where(is_tap, places, np.floor(centres))
    return np.clip(places, 0, resampling.extent - 1).astype(np.int64), weights / weights.sum(axis=0)


def _kernel(distance: Any, how: Mode) -> Any:
    t, a = np.abs(distance), how.cubic_a
    if how.mode == "linear":
        return np.clip(1 - t, 0, None)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))
