"""Products and convolutions of 8-bit numbers from which zero points are subtracted.

Source: the ONNX operator schemas. MatMulInteger and ConvInteger sum in int32, which wraps, as ONNX lets it; sums that are scaled
or rounded behind (QLinearMatMul, QLinearConv, `exact_matmul`, `lowered_exact_matmul`) never wrap, however long they are.

A byte less a zero point of its type lies within 255 of 0: int32 holds all sums of 33,025 products, and longer ones where constant
weights keep them small. All others are added in int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import inf, prod
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import ShapeError, Undecided, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.nn.conv import Convolution
from tilewright.frontend.onnx.operators.operands import completed, total
from tilewright.frontend.onnx.operators.quantization.quantize_linear import (
    SMALL,
    check_scale,
    check_zero_type,
    lowered_quantized,
    quantized,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import is_known_as_0, padded_integer_convolution
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.exactness import BYTES, LARGEST_WHOLE
from tilewright.graph.extents import cuts_between, largest_extent, least_extent
from tilewright.graph.numpy_types import widened
from tilewright.graph.scalar import Load, apply
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import PRODUCT, Extent, Tensor

Operand: TypeAlias = tuple[Tensor, Tensor | None]
"""Bytes and their zero point."""

LARGEST = 2**31 - 1
"""Of int32."""


def largest_factor(builder: Builder, operand: Operand) -> int:
    """The largest magnitude of a byte of a type less its zero point, whose values may be known.

    Raises `UnsupportedOperation` for other types.

    >>> builder = Builder("f")
    >>> largest_factor(builder, (builder.input("x", (3,), "uint8"), builder.constant(np.uint8(100), "zero")))
    155
    """
    tensor, zero = operand
    if tensor.dtype not in BYTES:
        raise UnsupportedOperation(f"a product of {tensor.dtype} has no lowering", why="bytes are multiplied as integers")
    limits, zeros = np.iinfo(tensor.dtype), np.zeros(1, np.int32) if zero is None else builder.known.get(zero.name)
    if zeros is None or not zeros.size:
        return int(limits.max) - int(limits.min)
    return max(int(limits.max) - int(zeros.min()), int(zeros.max()) - int(limits.min))


def largest_sum(builder: Builder, left: Operand, right: Operand, steps: int, summed: tuple[int, ...], along: int) -> float:
    """An upper bound on the magnitude of a sum of so many products, by the values of `right` where they are constants.

    `summed` are the dimensions of `right` that are summed, `along` is that with a zero point each, where it has a vector of them.

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (2, 70000), "uint8"), builder.constant(np.ones((70000, 3), np.int8))
    >>> [largest_sum(builder, (x, None), (right, None), 70000, (0,), 1) for right in (w, x)]
    [17850000, 4551750000]
    """
    factor, (tensor, zero) = largest_factor(builder, left), right
    most = factor * largest_factor(builder, right) * steps
    values = builder.known.get(tensor.name)
    zeros = np.zeros((), np.int32) if zero is None else builder.known.get(zero.name)
    if most <= LARGEST or values is None or zeros is None:
        return most
    shape = [-1 if dimension == along % values.ndim else 1 for dimension in range(values.ndim)]
    numbers = zeros.reshape(shape) if zeros.ndim == 1 and zeros.size > 1 else zeros
    centred = np.abs(values.astype(np.int32) - numbers.astype(np.int32))
    return factor * int(centred.sum(axis=summed, dtype=np.int64).max(initial=0))


def are_at_most(steps: Extent, most: int) -> bool:
    """Whether there are at most so many steps. Raises `Undecided` for a run-time number whose range can be divided there."""
    if isinstance(steps, int) or largest_extent(steps) <= most or least_extent(steps) > most:
        return largest_extent(steps) <= most
    cuts = cuts_between(steps, most, "<=")
    if cuts:
        raise Undecided(f"whether {steps} int8 products are at most {most}", where="quantised product").with_cuts(cuts)
    return False


def with_bias(builder: Builder, sums: Tensor, largest: float, bias: Tensor, spread: Tensor) -> Tensor:
    """Sums up to a largest magnitude plus a bias of int32, in a type that holds all results.

    `spread` is the bias as it broadcasts. One whose values are not known may be any numbers of its type.
    """
    values = builder.known.get(bias.name)
    size: Any = inf if values is None else np.abs(values.astype(np.int64)).max(initial=0)
    return builder.map("add", sums, spread, dtype="int64" if largest + size > LARGEST else sums.dtype)


@onnx_operator("MatMulInteger", since=10)
class MatMulInteger:
    """(a - zero of a) (b - zero of b) in int32; zero points are of the tensor, of rows of a, or of columns of b."""

    def reference(self, a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
        _check_zeros(a, a_zero_point, b, b_zero_point)
        return np.matmul(_centred_rows(a, a_zero_point), _centred_columns(b, b_zero_point))

    def lower(
        self, builder: Builder, a: Tensor, b: Tensor, a_zero_point: Tensor | None = None, b_zero_point: Tensor | None = None
    ) -> Tensor:
        """A product with its zero points as one operator, whose sums are of 32 bits."""
        _check_zeros(a, a_zero_point, b, b_zero_point)
        return builder.record(integer_matmul, a, b, *_lowered_zeros(builder, a, b, a_zero_point, b_zero_point), kind="matmul")


def exact_matmul(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    """MatMulInteger in int64. Products are those of float64, which holds every sum of less than 2^37 steps."""
    _check_zeros(a, a_zero_point, b, b_zero_point)
    left, right = _centred_rows(a, a_zero_point), _centred_columns(b, b_zero_point)
    return np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)


def lowered_exact_matmul(
    builder: Builder,
    a: Tensor,
    b: Tensor,
    a_zero_point: Tensor | None = None,
    b_zero_point: Tensor | None = None,
    largest: float | None = None,
) -> Tensor:
    """The same in int32 where that holds every sum; else its parts, which int32 holds, added in int64.

    `largest` bounds the magnitude of the sums, where that is known better than from `b`. Run-time numbers of steps that may be
    too many are summed in int64. Raises `Undecided` where they may be few, too.
    """
    _check_zeros(a, a_zero_point, b, b_zero_point)
    zeros, steps = _lowered_zeros(builder, a, b, a_zero_point, b_zero_point), a.shape[-1]
    most = LARGEST // (largest_factor(builder, (a, a_zero_point)) * largest_factor(builder, (b, b_zero_point)))
    largest = _largest(builder, a, b, a_zero_point, b_zero_point) if largest is None else largest
    if largest <= LARGEST or are_at_most(steps, most):
        return builder.record(integer_matmul, a, b, *zeros, kind="matmul")
    if not isinstance(steps, int):
        return builder.record(integer_matmul, a, b, *zeros, kind="matmul", dtype="int64")
    parts = [_part(builder, a, b, zeros, slice(start, start + most)) for start in range(0, steps, most)]
    return builder.body(total([Load(number) for number in range(len(parts))]), *parts, dtype="int64", kind="parts")


@onnx_operator("QLinearMatMul", since=10)
class QLinearMatMul:
    """The product of what a and b stand for, as y stands for it: rounded to even, with saturation."""

    def reference(self, *operands: Any) -> Any:
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = operands
        products = exact_matmul(a, b, a_zero_point, b_zero_point)
        a_factor, b_factor, y_factor = (widened(factor) for factor in (_rows(a_scale, a), b_scale, _rows(y_scale, a)))
        return quantized(products * (a_factor * b_factor / y_factor), _rows(y_zero_point, a))

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """A contraction of integers, and maps that scale and round its results."""
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = operands
        scales = (a_scale, b_scale, y_scale)
        for scale, what in zip(scales, "aby", strict=True):
            check_scale(builder, scale, what, divides=scale is y_scale)
        if y_zero_point.dtype not in SMALL or any(scale.dtype == "float64" for scale in scales):
            raise UnsupportedOperation(f"QLinearMatMul with scales of float64, or to {y_zero_point.dtype}, has no lowering")
        products = lowered_exact_matmul(builder, a, b, a_zero_point, b_zero_point)
        of_rows = {"a": a_scale, "y": y_scale, "zero": y_zero_point}
        numbers = {name: _lowered_parameter(builder, each, a, of_rows=True) for name, each in of_rows.items()}
        numbers["b"] = _lowered_parameter(builder, b_scale, b, of_rows=False)
        for each in numbers.values():
            if broadcast_shapes((products.shape, each.shape), "QLinearMatMul") != products.shape:
                text = f"QLinearMatMul of {shape_text(a.shape)} and {shape_text(b.shape)}"
                raise UnsupportedOperation(f"{text} with scales of {shape_text(each.shape)} has no lowering")
        factor = apply("divide", apply("multiply", Load(1), Load(2)), Load(3))
        read = (products, numbers["a"], numbers["b"], numbers["y"])
        return lowered_quantized(builder, apply("multiply", Load(0), factor), read, numbers["zero"], y_zero_point.dtype)


def _check_zeros(a: Any, a_zero_point: Any, b: Any, b_zero_point: Any) -> None:
    check_zero_type(a_zero_point, a, "a")
    check_zero_type(b_zero_point, b, "b")


def _rows(parameter: Any, matrix: Any) -> Any:
    """One for every row as a column; one for the whole tensor, and what has the matrix's rank, as it is."""
    return parameter[..., None] if parameter.ndim and parameter.size > 1 and parameter.ndim < matrix.ndim else parameter


def _centred_rows(x: Any, zero: Any) -> Any:
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - _rows(zero, x).astype(np.int32)


def _centred_columns(x: Any, zero: Any) -> Any:
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - zero.astype(np.int32)


def _largest(builder: Builder, a: Tensor, b: Tensor, a_zero_point: Tensor | None, b_zero_point: Tensor | None) -> float:
    """An upper bound on the magnitude of what a product of bytes sums; infinite for a run-time number of steps."""
    steps, summed = a.shape[-1], -2 if len(b.shape) > 1 else -1
    if not isinstance(steps, int):
        return inf
    return largest_sum(builder, (a, a_zero_point), (b, b_zero_point), steps, (summed,), -1)


def _part(builder: Builder, a: Tensor, b: Tensor, zeros: tuple[Tensor | None, Tensor | None], steps: slice) -> Tensor:
    """The product over some steps, in int32."""
    rows = builder.slice(a, (..., steps))
    columns = builder.slice(b, (..., steps, slice(None)) if len(b.shape) > 1 else (steps,))
    return builder.record(integer_matmul, rows, columns, *zeros, kind="matmul")


def _lowered_zeros(
    builder: Builder, a: Tensor, b: Tensor, a_zero_point: Tensor | None, b_zero_point: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    return _lowered_zero(builder, a_zero_point, a, of_rows=True), _lowered_zero(builder, b_zero_point, b, of_rows=False)


def _lowered_zero(builder: Builder, zero: Tensor | None, x: Tensor, *, of_rows: bool) -> Tensor | None:
    """The zero point of an operand, of the tensor, or of every row or column, as it broadcasts to it; None for a known 0."""
    if zero is None:
        return None
    if zero.shape in ((), (1,)) and zero.name in builder.known and not np.any(builder.known[zero.name]):
        return None
    return _lowered_parameter(builder, zero, x, of_rows=of_rows)


def _lowered_parameter(builder: Builder, parameter: Tensor, x: Tensor, *, of_rows: bool) -> Tensor:
    """A scale or a zero point of a tensor, or of every row or column of x, as it broadcasts to x and to a product."""
    if parameter.shape in ((), (1,)):
        return builder.reshape(parameter, ())
    return builder.reshape(parameter, (*parameter.shape, 1)) if of_rows and len(parameter.shape) < len(x.shape) else parameter


@onnx_operator("ConvInteger", since=10)
class ConvInteger(Convolution):
    """The sums, of what the padding leaves out as 0."""

    def reference(self, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
        _check_conv_zeros(x, x_zero, w, w_zero)
        return self.sums(_centred(x, x_zero, 1), _centred(w, w_zero, w.shape[0]))

    def lower(self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
        """One operator, behind a padded copy of some images: planning chooses how it is computed.

        Filters of one channel are summed in float32 where that is exact (`graph/rewrites/integer_products.py` goes on with them).
        """
        _check_conv_zeros(x, x_zero, w, w_zero)
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


@onnx_operator("QLinearConv", since=10)
class QLinearConv(Convolution):
    """The sums, scaled, rounded to even and saturated to the type of the result's zero point."""

    def reference(self, *operands: Any) -> Any:
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = completed(operands, 9)
        _check_conv_zeros(x, x_zero, w, w_zero)
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
        _check_conv_zeros(x, x_zero, w, w_zero)
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
        sums = integers.whole_sums(builder, x, w, x_zero, w_zero, _largest_bias(builder, b))
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


def _largest_bias(builder: Builder, bias: Tensor | None) -> float:
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


def _check_conv_zeros(x: Any, x_zero: Any, w: Any, w_zero: Any) -> None:
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
