"""ConvInteger and QLinearConv: convolutions of integers less their zero points.

ConvInteger sums in int32, which wraps, as ONNX lets it; sums of QLinearConv, which are scaled, never wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.conv import Convolution
from tilewright.frontend.onnx.operators.operands import completed
from tilewright.frontend.onnx.operators.quantization.exact_sums import LARGEST, largest_sum, with_bias
from tilewright.frontend.onnx.operators.quantization.parameters import check_scale, check_zero_type
from tilewright.frontend.onnx.operators.quantization.quantize_linear import SMALL, lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import is_known_as_0, padded_integer_convolution
from tilewright.graph.exactness import BYTES, LARGEST_WHOLE
from tilewright.graph.scalar import Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import PRODUCT, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvInteger(Convolution):
    """The sums, of what the padding leaves out as 0."""

    def reference(self, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
        _check_zeros(x, x_zero, w, w_zero)
        return self.sums(_centred(x, x_zero, 1), _centred(w, w_zero, w.shape[0]))

    def lower(self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
        """One operator, behind a padded copy of some images: planning chooses how it is computed.

        Filters of one channel are summed in float32 where that is exact (`graph/rewrites/integer_products.py` goes on with them).
        """
        _check_zeros(x, x_zero, w, w_zero)
        sums = self.whole_sums(builder, x, w, x_zero, w_zero)
        return self.lowered_integers(builder, x, w, x_zero, w_zero) if sums is None else builder.cast(sums, "int32")

    def lowered_integers(
        self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Tensor | None, dtype: str = "int32"
    ) -> Tensor:
        """The sums in int32 or int64."""
        window = self.windows(x.shape[2:], self.kernel(x.shape, w.shape), "ConvInteger")
        return padded_integer_convolution(builder, x, w, window, self.group, x_zero, w_zero, dtype)

    def whole_sums(
        self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Tensor | None, bias: float = 0.0
    ) -> Tensor | None:
        """The sums of filters of one channel in float32, to which a bias of that magnitude may be added exactly; None elsewhere.

        The padding is 0 in such an image, whatever its zero point is.
        """
        zeros = ((x, x_zero), (w, w_zero))
        is_typed = all(one.dtype in BYTES and (zero is None or zero.dtype == one.dtype) for one, zero in zeros)
        has_one_channel = self.group > 1 and w.shape[1] == 1
        if not has_one_channel or not is_typed or not are_exact_in_float32(self.kernel(x.shape, w.shape), bias):
            return None
        return self.lowered_sums(builder, *(_lowered_centred(builder, tensor, zero) for tensor, zero in zeros))


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearConv(Convolution):
    """The sums, scaled, rounded to even and saturated to the type of the result's zero point."""

    def reference(self, *operands: Any) -> Any:
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = completed(operands, 9)
        _check_zeros(x, x_zero, w, w_zero)
        sums = self.sums(*(each.astype(np.float64) for each in (_centred(x, x_zero, 1), _centred(w, w_zero, w.shape[0]))))
        shape = (-1,) + (1,) * (x.ndim - 2)
        sums = sums if b is None else sums + np.reshape(b, shape)
        scale = np.asarray(x_scale, np.float32) * np.asarray(w_scale, np.float32) / np.asarray(y_scale, np.float32)
        return quantized(sums.astype(np.float32) * np.reshape(scale, shape if scale.size > 1 else (1,)), y_zero)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """The sums with the bias in integers, and maps that scale and round them in float32.

        Factors of filters are a vector: micro tiles load operands whose columns are a last dimension.
        """
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = completed(operands, 9)
        _check_zeros(x, x_zero, w, w_zero)
        for scale, what in ((x_scale, "x"), (w_scale, "w"), (y_scale, "y")):
            check_scale(builder, scale, what, divides=what == "y")
        if any(scale.dtype != "float32" for scale in (x_scale, w_scale, y_scale)) or y_zero.dtype not in SMALL:
            raise UnsupportedOperation(f"QLinearConv with scales of {w_scale.dtype}, or to {y_zero.dtype}, has no lowering")
        numbers = [builder.reshape(scale, ()) if scale.shape == (1,) else scale for scale in (x_scale, w_scale, y_scale)]
        factor = apply("divide", apply("multiply", Load(0), Load(1)), Load(2))
        scale = _by_filter(builder, builder.body(factor, *numbers, kind="factor"), x)
        sums = self._lowered_sums(builder, x, x_zero, w, w_zero, b)
        steps = apply("multiply", apply("round", Load(0)), Load(1)) if sums.dtype == "float32" else PRODUCT
        return lowered_quantized(builder, steps, (sums, scale), _by_filter(builder, y_zero, x), y_zero.dtype)

    def _lowered_sums(self, builder: Builder, x: Tensor, x_zero: Tensor, w: Tensor, w_zero: Tensor, b: Tensor | None) -> Tensor:
        """The sums with the bias: in int32, in int64 where that may not hold them, or those of filters of one channel in float32.

        The last where that is exact. Rounding such sums changes nothing, and keeps passes from moving factors into the filters.
        """
        integers = ConvInteger(**asdict(self))
        sums = integers.whole_sums(builder, x, w, x_zero, w_zero, _largest(builder, b))
        if sums is not None:
            return sums if b is None else builder.map("add", sums, builder.cast(_by_filter(builder, b, x), sums.dtype))
        steps = prod(extent for extent in w.shape[1:] if isinstance(extent, int))
        largest = largest_sum(builder, (x, x_zero), (w, w_zero), steps, tuple(range(1, len(w.shape))), 0)
        dtype = "int32" if largest <= LARGEST else "int64"
        sums = integers.lowered_integers(builder, x, w, x_zero, w_zero, dtype)
        return sums if b is None else with_bias(builder, sums, largest, b, _by_filter(builder, b, x))


def are_exact_in_float32(taps: Sequence[int], bias: float) -> bool:
    """Whether float32 computes every sum over so many taps of one channel exactly, with a bias of that magnitude.

    A byte less a zero point of its type lies within 255 of 0, a product within 255 * 255, and float32 holds every whole number up
    to 2^24: all partial sums, in any order, of 258 taps, or of 25 taps with a bias up to 15,151,591.

    >>> are_exact_in_float32((258,), 0.0), are_exact_in_float32((259,), 0.0), are_exact_in_float32((5, 5), 15_151_591.0)
    (True, False, True)
    """
    return prod(taps) * 255 * 255 + bias <= LARGEST_WHOLE


def _largest(builder: Builder, bias: Tensor | None) -> float:
    """The largest magnitude of a bias; infinite where it is no constant."""
    if bias is None:
        return 0.0
    return float(np.abs(builder.known[bias.name].astype(np.int64)).max(initial=0)) if bias.name in builder.known else inf


def _lowered_centred(builder: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    """x less its zero point in float32."""
    if zero is None or is_known_as_0(builder, zero):
        return builder.cast(x, "float32")
    filters = zero.shape[0] if zero.shape else 1
    number = builder.reshape(zero, () if filters == 1 else (filters, *(1,) * (len(x.shape) - 1)))
    return builder.body(apply("subtract", Load(0), Load(1)), x, number, dtype="float32", kind="centre")


def _by_filter(builder: Builder, parameter: Tensor, x: Tensor) -> Tensor:
    """A number, or one for every filter, as it broadcasts to the result."""
    filters = parameter.shape[0] if parameter.shape else 1
    return builder.reshape(parameter, () if filters == 1 else (filters, *(1,) * (len(x.shape) - 2)))


def _check_zeros(x: Any, x_zero: Any, w: Any, w_zero: Any) -> None:
    check_zero_type(x_zero, x, "x")
    check_zero_type(w_zero, w, "w")
    sizes = {(), (1,), (w.shape[0],)}
    if w_zero is not None and w_zero.shape not in sizes:
        text = f"zero points of shape {shape_text(w_zero.shape)} for {w.shape[0]} filters"
        raise ShapeError(text, where="quantisation", why="there is one for all filters, or one for each")


def _centred(x: Any, zero: Any, channels: int) -> Any:
    """x less its zero point, of which dimension 0 may have one for each channel."""
    if zero is None:
        return x.astype(np.int32)
    shape = (channels,) + (1,) * (x.ndim - 1) if np.size(zero) > 1 else (1,) * x.ndim
    return x.astype(np.int32) - np.reshape(zero.astype(np.int32), shape)


define("ConvInteger", ConvInteger, since=10)
define("QLinearConv", QLinearConv, since=10)
