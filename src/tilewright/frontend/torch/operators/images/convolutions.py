"""Convolutions along one to three dimensions, of images with and without a batch, and transposed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.registry import lowers
from tilewright.frontend.torch.windows import as_numbers, nothing, per_dimension
from tilewright.graph.builders.convolutions.convolution import convolved
from tilewright.graph.builders.convolutions.spread import Spread
from tilewright.graph.builders.convolutions.transposed_convolution import transposed_convolution
from tilewright.graph.builders.convolutions.windows import Same, Taps, Window, windows_over
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Tensor, planned_extent


@lowers(
    "aten.convolution.default",
    "aten._convolution.default",
    "aten._convolution.deprecated",
    "aten.convolution_overrideable.default",
    "aten.mkldnn_convolution.default",
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv3d.default",
    "aten.thnn_conv2d.default",
    "aten.slow_conv3d.default",
    "aten.slow_conv_dilated2d.default",
    "aten.slow_conv_dilated3d.default",
    "aten._slow_conv2d_forward.default",
    "aten.slow_conv3d_forward.default",
    "aten._conv_depthwise2d.default",
    "aten.conv_depthwise3d.default",
)
def convolution(call: Call) -> Tensor:
    """The sums of products of every window with the filters, and a bias for every filter."""
    if call.has("transposed") and call["transposed"]:
        return _transposed(call)
    sides = as_numbers(call, "padding")
    return _convolved(call, lambda rank: (per_dimension(sides, rank),) * 2)


@lowers("aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding")
def convolution_by_name(call: Call) -> Tensor:
    """The same with padding by name: "valid" is none, "same" that of as many outputs, an odd element behind."""
    if call["padding"] == "valid":
        return _convolved(call, lambda rank: ((0,) * rank,) * 2)
    if call["padding"] != "same":
        raise call.refuse(f"padding {call['padding']!r}")
    return _convolved(call, lambda rank: Same.UPPER)


def _convolved(call: Call, padding: Any) -> Tensor:
    if 0 in call.result.shape:
        return nothing(call)
    x, w, bias = _operands(call)
    rank = len(w.shape) - 2
    taps = _taps(call, w.shape[2:])
    image = _with_batch(call, x, rank)
    window = windows_over(image.shape[2:], taps, padding(rank))
    if isinstance(window, Window) and min(window.outputs) < 1:
        raise call.refuse("no window fits into the image")
    y = convolved(call.builder, image, w, window, _groups(call), bias=bias)
    return _given(call, y, is_one_image=image is not x)


@lowers("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def transposed(call: Call) -> Tensor:
    """Every element of the image times the filters, added to its own window of the result; a bias for every filter."""
    return _transposed(call)


def _transposed(call: Call) -> Tensor:
    if 0 in call.result.shape:
        return nothing(call)
    x, w, bias = _operands(call)
    rank = len(w.shape) - 2
    image = _with_batch(call, x, rank)
    sides, more = (per_dimension(as_numbers(call, name), rank) for name in ("padding", "output_padding"))
    found = Spread.cut(image.shape[2:], _taps(call, w.shape[2:]), more, sides, sides)
    y = transposed_convolution(call.builder, image, w, found, _groups(call), bias)
    return _given(call, y, is_one_image=image is not x)


def _operands(call: Call) -> tuple[Tensor, Tensor, Tensor | None]:
    """The image, the filters and the bias in the type that sums are computed in."""
    dtype = wide_type(call.result.dtype)
    image = "input" if call.has("input") else "self"
    bias = call.optional("bias", dtype)
    x, w = call.tensor(image, dtype), call.tensor("weight", dtype)
    if len(w.shape) < 3 or not are_known(w.shape) or 0 in (*x.shape, *w.shape):
        raise call.refuse("filters of run-time extents, or no elements")
    return x, w, bias


def _taps(call: Call, kernel: Sequence[Any]) -> Taps:
    found, rank = tuple(map(planned_extent, kernel)), len(kernel)
    strides, dilations = (
        per_dimension(as_numbers(call, name), rank) if call.has(name) else (1,) * rank for name in ("stride", "dilation")
    )
    return Taps(found, strides, dilations)


def _groups(call: Call) -> int:
    if not call.has("groups"):
        x, w = call.tensor("input" if call.has("input") else "self"), call.tensor("weight")
        return planned_extent(x.shape[1]) // planned_extent(w.shape[1])
    (groups,) = as_numbers(call, "groups")
    return groups


def _with_batch(call: Call, x: Tensor, rank: int) -> Tensor:
    """The image with a batch of its own if it has none."""
    if len(x.shape) == rank + 2:
        return x
    return call.builder.reshape(x, (1, *x.shape))


def _given(call: Call, y: Tensor, *, is_one_image: bool) -> Tensor:
    """The sums in the type of the result, without the batch of one image."""
    y = call.builder.reshape(y, y.shape[1:]) if is_one_image else y
    return call.cast(y, call.result.dtype)
