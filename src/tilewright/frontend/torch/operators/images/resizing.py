"""Images of other sizes: nearest, linear and cubic interpolation; blocks of pixels as channels, and back; windows as columns.

Positions and weights are ATen's, by its operations in its types (`aten/src/ATen/native/UpSample.h`, `cpu/UpSampleKernel.cpp`):
in float64 for float64, else in float32, with products added without rounding in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.registry import lowers
from tilewright.frontend.torch.windows import as_numbers, nothing, per_dimension
from tilewright.graph.builders.convolutions.windows import Taps, Window, elements_seen, windows_over
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.builders.resampling import picked, weighted_sums
from tilewright.graph.expressions.extents import quotient
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Access, Extent, Guard, Operator, Tensor, planned_extent
from tilewright.records import record

MOST_TAPS = 64
"""Of one output in one map."""


@record
class Resized:
    """How one dimension is resized."""

    extent: Any
    output: Any
    scale: float | None
    """Outputs an element, where the caller gave it."""
    is_aligned: bool
    """Whether the first and last elements lie on each other."""
    type: Any
    """NumPy's type of positions."""

    def step(self) -> Any:
        """Elements an output."""
        if self.is_aligned:
            return self.type(self.extent - 1) / self.type(self.output - 1) if self.output > 1 else self.type(0)
        return self.type(1.0 / self.scale) if self.scale else self.type(self.extent) / self.type(self.output)

    def centres(self) -> Any:
        """Where every output lies; before the first element, too."""
        step, outputs = self.step(), np.arange(self.output)
        if self.is_aligned:
            return step * outputs.astype(self.type)
        half = self.type(0.5)
        if self.type is np.float32:
            return (np.float64(step) * (outputs + 0.5) - 0.5).astype(np.float32)
        return step * (outputs + half) - half

    def split(self, centres: Any) -> tuple[Any, Any]:
        """The element at or before every position, and how far behind it that lies."""
        before = np.minimum(np.floor(centres.astype(np.float32)).astype(np.int64), self.extent - 1)
        return before, np.clip(centres - before.astype(self.type), 0, 1).astype(self.type)


def _dimensions(call: Call) -> tuple[Tensor, dict[int, Resized]]:
    """The image, and how its last dimensions are resized."""
    x = call.tensor("self" if call.has("self") else "input")
    shape = call.result.shape
    rank = len(shape) - 2
    is_aligned = call.has("align_corners") and bool(call["align_corners"])
    kind: Any = np.float64 if x.dtype == "float64" else np.float32
    scales = _scales(call, rank)
    if 0 in (*x.shape, *shape):
        raise call.refuse("an image without elements")
    return x, {d: Resized(x.shape[d], shape[d], scales[d - 2], is_aligned, kind) for d in range(2, rank + 2)}


def _scales(call: Call, rank: int) -> list[float | None]:
    """The scales as given; those from 0 down are none."""
    if call.has("scale_factors"):
        given = list(call["scale_factors"] or [None] * rank)
    else:
        names = ("scales",) if rank == 1 else ("scales_d", "scales_h", "scales_w")[-rank:]
        given = [call[name] for name in names]
    return [scale if scale is not None and scale > 0 else None for scale in given]


# Nearest


@lowers(
    "aten.upsample_nearest1d.default", "aten.upsample_nearest2d.default", "aten.upsample_nearest3d.default",
    "aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec", "aten.upsample_nearest3d.vec",
)  # fmt: skip
def nearest(call: Call) -> Tensor:
    """The elements at or before positions.

    In ATen's kernels of images as many or twice as many outputs as elements do not depend on the scale; in those of volumes
    this depends on the order in which elements lie.
    """
    return _nearest(call, lambda along: _before(call, along))


def _before(call: Call, along: Resized) -> Any:
    """The elements at or before positions. Raises `UnsupportedOperation` where they depend on the order of elements."""
    places = np.floor((along.step() * np.arange(along.output).astype(along.type)).astype(np.float32))
    rank = len(call.result.shape) - 2
    if along.output not in (along.extent, 2 * along.extent) or rank == 1:
        return places
    repeated = np.arange(along.output) // (along.output // along.extent)
    if rank == 3 and not np.array_equal(np.minimum(places, along.extent - 1), repeated):
        raise call.refuse("a scale that gives other elements of volumes by channels than of others")
    return repeated


@lowers(
    "aten._upsample_nearest_exact1d.default", "aten._upsample_nearest_exact2d.default",
    "aten._upsample_nearest_exact3d.default", "aten._upsample_nearest_exact1d.vec",
    "aten._upsample_nearest_exact2d.vec", "aten._upsample_nearest_exact3d.vec",
)  # fmt: skip
def nearest_exact(call: Call) -> Tensor:
    """The elements in which the centres of outputs lie."""
    return _nearest(call, lambda along: _middle(call, along))


def _middle(call: Call, along: Resized) -> Any:
    """The elements in which the centres of outputs lie. Raises `UnsupportedOperation` where they depend on elements' order."""
    outputs = np.arange(along.output)
    places = np.floor((along.step() * (outputs.astype(along.type) + along.type(0.5))).astype(np.float32))
    if along.type is not np.float32:
        step, half = np.float32(along.step()), np.float32(0.5)
        in_float32 = np.floor(step * (outputs.astype(np.float32) + half))
        if not np.array_equal(*(np.minimum(each, along.extent - 1) for each in (places, in_float32))):
            raise call.refuse("a scale that gives other elements of images by channels than of others")
    return places


def _nearest(call: Call, positions: Callable[[Resized], Any]) -> Tensor:
    x, found = _dimensions(call)
    if not are_known([*x.shape[2:], *call.result.shape[2:]]):
        raise call.refuse("elements nearest to positions in run-time extents")
    changed = {d: along for d, along in found.items() if along.extent != along.output or along.scale not in (None, 1.0)}
    places = {d: np.minimum(positions(along).astype(np.int64), along.extent - 1) for d, along in changed.items()}
    return picked(call.builder, x, places) if places else x


# Between elements


@lowers(
    "aten.upsample_linear1d.default", "aten.upsample_bilinear2d.default", "aten.upsample_trilinear3d.default",
    "aten.upsample_linear1d.vec", "aten.upsample_bilinear2d.vec", "aten.upsample_trilinear3d.vec",
)  # fmt: skip
def linear(call: Call) -> Tensor:
    """Between two elements along every dimension; of a dimension that stays 0 times every element is added."""
    x, found = _floats(call)
    changed = {d: along for d, along in found.items() if along.extent != along.output}
    y = _summed(call, x, {d: _linear_taps(along) for d, along in changed.items()})
    if len(changed) < len(found):
        y = call.builder.body(apply("add", Load(0), apply("multiply", Load(0), Literal(0.0))), y, kind="resize")
    return call.cast(y, call.result.dtype)


def _linear_taps(along: Resized) -> tuple[Any, Any]:
    centres = along.centres()
    before, share = along.split(centres if along.is_aligned else np.maximum(centres, along.type(0)))
    return np.stack([before, np.minimum(before + 1, along.extent - 1)]), np.stack([along.type(1) - share, share])


@lowers("aten.upsample_bicubic2d.default", "aten.upsample_bicubic2d.vec")
def cubic(call: Call) -> Tensor:
    """Between four elements along every dimension."""
    x, found = _floats(call)
    return call.cast(_summed(call, x, {d: _cubic_taps(along) for d, along in found.items()}), call.result.dtype)


def _cubic_taps(along: Resized) -> tuple[Any, Any]:
    before, share = along.split(along.centres())
    distances = np.stack([share + along.type(1), share, along.type(1) - share, along.type(2) - share])
    places = np.clip(before + np.arange(-1, 3)[:, None], 0, along.extent - 1)
    return places, _cubic(distances, along.type(-0.75))


def _cubic(distance: Any, coefficient: Any) -> Any:
    """The weight of an element at a distance below 2."""
    near = ((coefficient + 2) * distance - (coefficient + 3)) * distance * distance + 1
    far = ((coefficient * distance - 5 * coefficient) * distance + 8 * coefficient) * distance - 4 * coefficient
    return np.where(distance <= 1, near, far)


@lowers(
    "aten._upsample_bilinear2d_aa.default", "aten._upsample_bilinear2d_aa.vec",
    "aten._upsample_bicubic2d_aa.default", "aten._upsample_bicubic2d_aa.vec",
)  # fmt: skip
def without_aliases(call: Call) -> Tensor:
    """Sums of as many elements as a step is wide; a dimension that stays is as it is."""
    x, found = _floats(call)
    reach, weight = (2, _cubic_or_0) if "bicubic" in call.operator else (1, _triangle)
    changed = {d: along for d, along in found.items() if along.extent != along.output}
    taps = {d: _wide_taps(along, reach, weight) for d, along in changed.items()}
    if any(len(places) > MOST_TAPS for places, *_ in taps.values()):
        raise call.refuse("steps as wide as that")
    return call.cast(_summed(call, x, taps), call.result.dtype)


def _triangle(distance: Any) -> Any:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic_or_0(distance: Any) -> Any:
    size = np.abs(distance)
    return np.where(size < 2, _cubic(size, distance.dtype.type(-0.5)), 0)


def _wide_taps(along: Resized, reach: int, weight: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Positions, weights that sum to 1, and how many of these each output has."""
    kind, step, half = along.type, along.step(), along.type(0.5)
    support = kind(reach) * max(step, kind(1))
    centres = step * (np.arange(along.output).astype(kind) + half)
    first = np.maximum(np.trunc(centres - support + half).astype(np.int64), 0)
    counts = np.minimum(np.trunc(centres + support + half).astype(np.int64), along.extent) - first
    places = first + np.arange(counts.max())[:, None]
    weights = weight(((places.astype(kind) - centres) + half) / max(step, kind(1)))
    weights = np.where(np.arange(counts.max())[:, None] < counts, weights, 0).astype(kind)
    return np.minimum(places, along.extent - 1), weights / weights.sum(axis=0), counts


def _floats(call: Call) -> tuple[Tensor, dict[int, Resized]]:
    """An image of floating-point numbers in the type that they are summed in, and how its known extents are resized."""
    x, found = _dimensions(call)
    if "float" not in x.dtype:
        raise call.refuse(f"between elements of {x.dtype}")
    if not are_known([extent for along in found.values() for extent in (along.extent, along.output)]):
        raise call.refuse("between elements of run-time extents")
    return call.cast(x, wide_type(x.dtype)), found


def _summed(call: Call, x: Tensor, taps: dict[int, Any]) -> Tensor:
    """Sums of weighted elements: along inner dimensions, whose taps do not lie side by side, while there are fewest elements."""
    for d in sorted(taps, key=lambda d: (0, d) if taps[d][0].shape[1] < planned_extent(x.shape[d]) else (1, -d)):
        x = weighted_sums(call.builder, x, d, *taps[d])
    return x


# Blocks and columns


@lowers("aten.pixel_shuffle.default")
def pixel_shuffle(call: Call) -> Tensor:
    """Channels as blocks of pixels."""
    x, (factor,) = call.tensor("self"), as_numbers(call, "upscale_factor")
    *batch, channels, height, width = x.shape
    depth = quotient(channels, factor * factor)
    return _permuted(call, x, batch, (depth, factor, factor, height, width), (0, 3, 1, 4, 2))


@lowers("aten.pixel_unshuffle.default")
def pixel_unshuffle(call: Call) -> Tensor:
    """Blocks of pixels as channels."""
    x, (factor,) = call.tensor("self"), as_numbers(call, "downscale_factor")
    *batch, channels, height, width = x.shape
    split = (channels, quotient(height, factor), factor, quotient(width, factor), factor)
    return _permuted(call, x, batch, split, (0, 2, 4, 1, 3))


@lowers("aten.channel_shuffle.default", "aten.native_channel_shuffle.default")
def channel_shuffle(call: Call) -> Tensor:
    """Channels of groups one after the other."""
    x, (groups,) = call.tensor("self"), as_numbers(call, "groups")
    batch, channels, *space = x.shape
    split = (groups, quotient(channels, groups), *space)
    return _permuted(call, x, [batch], split, (1, 0, *range(2, len(split))))


def _permuted(call: Call, x: Tensor, batch: Sequence[Extent], split: Sequence[Extent], order: Sequence[int]) -> Tensor:
    """Dimensions behind those of the batch split, put into another order and merged."""
    if 0 in x.shape:
        return nothing(call)
    builder, first = call.builder, len(batch)
    parts = builder.reshape(x, (*batch, *split))
    return builder.reshape(builder.transpose(parts, (*range(first), *(first + d for d in order))), call.result.shape)


@lowers("aten.im2col.default")
def im2col(call: Call) -> Tensor:
    """The elements of every window as a column, those outside of the image 0."""
    x = call.tensor("self")
    kernel, dilations, sides, strides = (
        per_dimension(as_numbers(call, name), 2) for name in ("kernel_size", "dilation", "padding", "stride")
    )
    if 0 in x.shape:
        return nothing(call)
    window = windows_over(x.shape[-2:], Taps(kernel, strides, dilations), (sides, sides))
    if not isinstance(window, Window):
        raise call.refuse("windows over run-time extents")
    return call.builder.reshape(call.builder.record(_columns, x, window, kind="windows"), call.result.shape)


def _columns(x: Tensor, window: Window, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The elements by tap and window: dimensions of batch and channels, of taps, of windows."""
    first = len(x.shape) - window.rank
    shape = (*x.shape[:first], *window.kernel, *window.outputs)
    at = points(len(shape))
    taps, outputs = at[first : first + window.rank], at[first + window.rank :]
    sizes = {f"d{first + d}": extent for d, extent in enumerate((*window.kernel, *window.outputs))}
    places, limits = elements_seen(window, outputs, taps, sizes)
    read = Access(x.name, (*at[:first], *places), Guard(limits, 0.0) if limits else None)
    return map_of("windows", shape, [read], Load(0), x.dtype, name, result)
