"""Products and convolutions of 8-bit numbers from which zero points are subtracted.

Source: the ONNX operator schemas. MatMulInteger and ConvInteger sum in int32, which wraps, as ONNX lets it; sums that are scaled
or rounded behind (QLinearMatMul, QLinearConv, `ExactMatMul`) never wrap, however long they are.

A byte less a zero point of its type lies within 255 of 0: int32 holds all sums of 33,025 products, and longer ones where constant
weights keep them small. All others are added in int64.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.nn.conv import Convolution
from tilewright.frontend.onnx.operators.operands import completed, is_at_most, total
from tilewright.frontend.onnx.operators.quantization.linear import (
    SMALL,
    check_scale,
    check_zero_type,
    lowered_quantized,
    lowered_spread,
    quantized,
    spread,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import is_known_as_0, padded_integer_convolution
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.builders.zero_points import LARGEST_INT32, are_exact_in_float32, centred, largest_centred
from tilewright.graph.exactness import BYTES
from tilewright.graph.expressions.scalar import Load, apply, times
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import PRODUCT, Tensor
from tilewright.records import record

Operands: TypeAlias = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
"""An image, filters, and the zero points of both."""


def largest_factor(builder: Builder, tensor: Tensor, zero: Tensor | None) -> int:
    """The largest magnitude of a byte of a tensor less its zero point. Raises `UnsupportedOperation` for other types."""
    if tensor.dtype not in BYTES:
        raise UnsupportedOperation(f"a product of {tensor.dtype} has no lowering", why="bytes are multiplied as integers")
    return largest_centred(tensor.dtype, np.zeros(1, np.int32) if zero is None else builder.known.get(zero.name))


def largest_sum(
    builder: Builder, factor: int, right: Tensor, zero: Tensor | None, steps: int, summed: tuple[int, ...], along: int
) -> int:
    """An upper bound on the magnitude of a sum of products of a factor and `right`, by its values where they are constants.

    `summed` are the dimensions of `right` that are summed, `along` is that with a zero point each, where it has a vector of them.

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (70000, 3), "uint8"), builder.constant(np.ones((70000, 3), np.int8))
    >>> [largest_sum(builder, 255, right, None, 70000, (0,), 1) for right in (w, x)]
    [17850000, 4551750000]
    """
    most = factor * largest_factor(builder, right, zero) * steps
    values = builder.known.get(right.name)
    zeros = np.zeros((), np.int32) if zero is None else builder.known.get(zero.name)
    if most <= LARGEST_INT32 or values is None or zeros is None:
        return most
    shape = [-1 if dimension == along % values.ndim else 1 for dimension in range(values.ndim)]
    numbers = zeros.reshape(shape) if zeros.ndim == 1 and zeros.size > 1 else zeros
    magnitudes = np.abs(values.astype(np.int32) - numbers.astype(np.int32))
    return factor * int(magnitudes.sum(axis=summed, dtype=np.int64).max(initial=0))


def with_bias(builder: Builder, sums: Tensor, largest: float, bias: Tensor | None, along: int | None = None) -> Tensor:
    """Sums up to a largest magnitude plus a bias of int32, if there is one, in a type that holds all results.

    It broadcasts to the sums, or has a number for each index along a dimension.
    """
    if bias is None:
        return sums
    numbers = bias if along is None else lowered_spread(builder, bias, sums, along)
    dtype = "int64" if largest + largest_bias(builder, bias) > LARGEST_INT32 else sums.dtype
    return builder.map("add", sums, numbers, dtype=dtype)


def largest_bias(builder: Builder, bias: Tensor | None) -> float:
    """The largest magnitude of a bias; infinite where it is no constant."""
    if bias is None:
        return 0.0
    return float(np.abs(builder.known[bias.name].astype(np.int64)).max(initial=0)) if bias.name in builder.known else inf


@onnx_operator("MatMulInteger", since=10)
class MatMulInteger:
    """(a - zero of a) (b - zero of b) in int32; zero points are of the tensor, of rows of a, or of columns of b."""

    def reference(self, *operands: Any) -> Any:
        return np.matmul(*_centred_matrices(*completed(operands, 4)))

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """A product with its zero points as one operator, whose sums are of 32 bits."""
        a, b, a_zero_point, b_zero_point = completed(operands, 4)
        zeros = _lowered_zeros(builder, a, b, a_zero_point, b_zero_point)
        return builder.record(integer_matmul, a, b, *zeros, kind="matmul")


class ExactMatMul:
    """MatMulInteger in integers that hold every sum, plus a bias of int32 that broadcasts to the product."""

    def reference(self, *operands: Any) -> Any:
        """In int64. Products are those of float64, which holds every sum of less than 2^37 steps."""
        *matrices, bias = completed(operands, 5)
        left, right = _centred_matrices(*matrices)
        sums = np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)
        return sums if bias is None else sums + bias

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """In int32 where that holds every sum; else its parts, which int32 holds, added in int64.

        Run-time numbers of steps that may be too many are summed in int64. Raises `Undecided` where they may be few, too.
        """
        a, b, a_zero_point, b_zero_point, bias = completed(operands, 5)
        zeros, steps = _lowered_zeros(builder, a, b, a_zero_point, b_zero_point), a.shape[-1]
        factor, summed, largest = largest_factor(builder, a, a_zero_point), -2 if len(b.shape) > 1 else -1, inf
        most = LARGEST_INT32 // (factor * largest_factor(builder, b, b_zero_point))
        if isinstance(steps, int):
            largest = largest_sum(builder, factor, b, b_zero_point, steps, (summed,), -1)
        if largest <= LARGEST_INT32 or is_at_most(steps, most, "int8 products", "quantised product"):
            sums = builder.record(integer_matmul, a, b, *zeros, kind="matmul")
        elif isinstance(steps, int):
            sums = _in_parts(builder, a, b, zeros, [slice(start, start + most) for start in range(0, steps, most)])
        else:
            sums = builder.record(integer_matmul, a, b, *zeros, kind="matmul", dtype="int64")
        return with_bias(builder, sums, largest, bias)


@record
class Scaled:
    """Sums of products of steps, times both scales, plus a bias in float32; or quantised again, where there is a result's scale.

    Operands are sums, left and right scale, and, each or none, the result's scale and zero point, and the bias.
    """

    alpha: float = 1.0
    """A factor of all."""

    def reference(self, *operands: Any) -> Any:
        sums, left, right, result, zero, bias = completed(operands, 6)
        factor = np.float32(self.alpha) * left * right
        factor = factor if result is None else factor / result
        numbers = sums.astype(np.result_type(factor, np.float32)) * factor
        if zero is not None:
            return quantized(numbers, zero)
        return np.asarray(numbers if bias is None else numbers + bias, np.float32)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """One map: scales, zero points and biases broadcast to the sums."""
        sums, left, right, result, zero, bias = completed(operands, 6)
        scales = [_whole(builder, scale) for scale in (left, right, result) if scale is not None]
        factor = apply("multiply", times(Load(1), float(np.float32(self.alpha))), Load(2))
        numbers = apply("multiply", Load(0), factor if result is None else apply("divide", factor, Load(3)))
        if zero is not None:
            return lowered_quantized(builder, numbers, (sums, *scales), _whole(builder, zero), zero.dtype)
        if bias is None:
            return builder.body(numbers, sums, *scales, dtype="float32", kind="scale")
        return builder.body(apply("add", numbers, Load(3)), sums, *scales, bias, dtype="float32", kind="scale")


@onnx_operator("QLinearMatMul", since=10)
class QLinearMatMul:
    """The product of what a and b stand for, as y stands for it: rounded to even, with saturation."""

    def reference(self, *operands: Any) -> Any:
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = operands
        of_a, of_b, of_y = (widened(scale) for scale in (_rows(a_scale, a), b_scale, _rows(y_scale, a)))
        sums = ExactMatMul().reference(a, b, a_zero_point, b_zero_point)
        return Scaled().reference(sums, of_a, of_b, of_y, _rows(y_zero_point, a))

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """A contraction of integers, and maps that scale and round its results."""
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = operands
        scales = (a_scale, b_scale, y_scale)
        for scale, what in zip(scales, "aby", strict=True):
            check_scale(scale, what, builder.known, divides=scale is y_scale)
        if y_zero_point.dtype not in SMALL or any(scale.dtype == "float64" for scale in scales):
            raise UnsupportedOperation(f"QLinearMatMul with scales of float64, or to {y_zero_point.dtype}, has no lowering")
        sums = ExactMatMul().lower(builder, a, b, a_zero_point, b_zero_point)
        of_a, of_y, zero = (_lowered_parameter(builder, each, a, of_rows=True) for each in (a_scale, y_scale, y_zero_point))
        of_b = _lowered_parameter(builder, b_scale, b, of_rows=False)
        for each in (of_a, of_y, zero, of_b):
            if broadcast_shapes((sums.shape, each.shape), "QLinearMatMul") != sums.shape:
                text = f"QLinearMatMul of {shape_text(a.shape)} and {shape_text(b.shape)}"
                raise UnsupportedOperation(f"{text} with scales of {shape_text(each.shape)} has no lowering")
        return Scaled().lower(builder, sums, of_a, of_b, of_y, zero)


def _rows(parameter: Any, matrix: Any) -> Any:
    """One for every row as a column; one for the whole tensor, and what has the matrix's rank, as it is."""
    return parameter[..., None] if parameter.ndim and parameter.size > 1 and parameter.ndim < matrix.ndim else parameter


def _check_zeros(x: Any, x_zero: Any, y: Any, y_zero: Any, names: str = "ab") -> None:
    for tensor, zero, name in ((x, x_zero, names[0]), (y, y_zero, names[1])):
        check_zero_type(zero, tensor, name)


def _centred_matrices(a: Any, b: Any, a_zero: Any, b_zero: Any) -> list[Any]:
    """Both matrices less their zero points, in int32."""
    _check_zeros(a, a_zero, b, b_zero)
    pairs = ((a, None if a_zero is None else _rows(a_zero, a)), (b, b_zero))
    return [x.astype(np.int32) - (0 if zero is None else zero.astype(np.int32)) for x, zero in pairs]


def _in_parts(builder: Builder, a: Tensor, b: Tensor, zeros: tuple[Tensor | None, ...], parts: list[slice]) -> Tensor:
    """The sum of products over parts of the steps: each in int32, all of them in int64."""
    products = []
    for part in parts:
        rows = builder.slice(a, (..., part))
        columns = builder.slice(b, (..., part, slice(None)) if len(b.shape) > 1 else (part,))
        products.append(builder.record(integer_matmul, rows, columns, *zeros, kind="matmul"))
    return builder.body(total([Load(number) for number in range(len(parts))]), *products, dtype="int64", kind="parts")


def _lowered_zeros(builder: Builder, a: Tensor, b: Tensor, *zeros: Tensor | None) -> tuple[Tensor | None, ...]:
    """The zero points of both operands, each of the tensor, or of every row or column, as they broadcast; None for a known 0."""
    of_a, of_b = zeros
    _check_zeros(a, of_a, b, of_b)
    operands = ((of_a, a, True), (of_b, b, False))
    return tuple(zero and _lowered_zero(builder, zero, x, of_rows=of_rows) for zero, x, of_rows in operands)


def _lowered_zero(builder: Builder, zero: Tensor, x: Tensor, *, of_rows: bool) -> Tensor | None:
    is_left_out = zero.shape in ((), (1,)) and is_known_as_0(builder, zero)
    return None if is_left_out else _lowered_parameter(builder, zero, x, of_rows=of_rows)


def _whole(builder: Builder, parameter: Tensor) -> Tensor:
    """A number of the whole tensor without dimensions; all others as they are."""
    return builder.reshape(parameter, ()) if parameter.shape == (1,) else parameter


def _lowered_parameter(builder: Builder, parameter: Tensor, x: Tensor, *, of_rows: bool) -> Tensor:
    """A scale or a zero point of a tensor, or of every row or column of x, as it broadcasts to x and to a product."""
    is_column = of_rows and 0 < len(parameter.shape) < len(x.shape) and parameter.shape != (1,)
    return builder.reshape(parameter, (*parameter.shape, 1)) if is_column else _whole(builder, parameter)


@record(kw_only=True)
class IntegerConvolution(Convolution):
    """The sums of products of bytes less their zero points, of what the padding leaves out as 0."""

    def integer_sums(self, x: Any, w: Any, x_zero: Any, w_zero: Any, dtype: Any) -> Any:
        """The sums of arrays, in a type."""
        _check_conv_zeros(x, x_zero, w, w_zero)
        zeros = [0 if zero is None else spread(zero, y.shape, 0, 0).astype(dtype) for y, zero in ((x, x_zero), (w, w_zero))]
        return self.sums(x.astype(dtype) - zeros[0], w.astype(dtype) - zeros[1])

    def lowered_integers(self, builder: Builder, operands: Operands, dtype: str = "int32") -> Tensor:
        """The sums in int32 or int64."""
        x, w, x_zero, w_zero = operands
        window = self.windows(x.shape[2:], self.kernel(x.shape, w.shape), "ConvInteger")
        return padded_integer_convolution(builder, x, w, window, self.group, x_zero, w_zero, dtype)

    def whole_sums(self, builder: Builder, operands: Operands, bias: float = 0.0) -> Tensor | None:
        """The sums of filters of one channel in float32, to which a bias of that magnitude may be added exactly; None elsewhere.

        The padding is 0 in such an image, whatever its zero point is.
        """
        x, w, x_zero, w_zero = operands
        has_one_channel = self.group > 1 and w.shape[1] == 1 and BYTES.issuperset((x.dtype, w.dtype))
        if not has_one_channel or not are_exact_in_float32(prod(self.kernel(x.shape, w.shape)), bias):
            return None
        return self.lowered_sums(builder, _lowered_centred(builder, x, x_zero), _lowered_centred(builder, w, w_zero))


@onnx_operator("ConvInteger", since=10)
class ConvInteger(IntegerConvolution):
    """The sums, of what the padding leaves out as 0."""

    def reference(self, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
        return self.integer_sums(x, w, x_zero, w_zero, np.int32)

    def lower(self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
        """One operator, behind a padded copy of some images: planning chooses how it is computed.

        Filters of one channel are summed in float32 where that is exact (`graph/rewrites/integer_products.py` goes on with them).
        """
        _check_conv_zeros(x, x_zero, w, w_zero)
        sums = self.whole_sums(builder, (x, w, x_zero, w_zero))
        return self.lowered_integers(builder, (x, w, x_zero, w_zero)) if sums is None else builder.cast(sums, "int32")


@onnx_operator("QLinearConv", since=10)
class QLinearConv(IntegerConvolution):
    """The sums, scaled, rounded to even and saturated to the type of the result's zero point."""

    def reference(self, *operands: Any) -> Any:
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = completed(operands, 9)
        sums = self.integer_sums(x, w, x_zero, w_zero, np.float64)
        sums = sums if b is None else sums + spread(b, sums.shape, 1, 0)
        of_w = spread(np.asarray(w_scale), sums.shape, 1, 0)
        of_x, of_w, of_y = (np.asarray(scale, np.float32) for scale in (x_scale, of_w, y_scale))
        return Scaled().reference(sums, of_x, of_w, of_y, y_zero)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """The sums with the bias in integers, and maps that scale and round them in float32.

        Factors of filters are a vector: micro tiles load operands whose columns are a last dimension. Rounding sums of float32
        changes nothing, and keeps passes from moving factors into the filters.
        """
        x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b = completed(operands, 9)
        _check_conv_zeros(x, x_zero, w, w_zero)
        for scale, what in ((x_scale, "x"), (w_scale, "w"), (y_scale, "y")):
            check_scale(scale, what, builder.known, divides=what == "y")
        if any(scale.dtype != "float32" for scale in (x_scale, w_scale, y_scale)) or y_zero.dtype not in SMALL:
            raise UnsupportedOperation(f"QLinearConv with scales of {w_scale.dtype}, or to {y_zero.dtype}, has no lowering")
        numbers = [_whole(builder, scale) for scale in (x_scale, w_scale, y_scale)]
        factor = builder.body(apply("divide", apply("multiply", Load(0), Load(1)), Load(2)), *numbers, kind="factor")
        sums = self._lowered_sums(builder, (x, w, x_zero, w_zero), b)
        steps = apply("multiply", apply("round", Load(0)), Load(1)) if sums.dtype == "float32" else PRODUCT
        by_filter = [lowered_spread(builder, parameter, sums, 1) for parameter in (factor, y_zero)]
        return lowered_quantized(builder, steps, (sums, by_filter[0]), by_filter[1], y_zero.dtype)

    def _lowered_sums(self, builder: Builder, operands: Operands, b: Tensor | None) -> Tensor:
        """The sums with the bias: in int32, in int64 where that may not hold them, or those of filters of one channel in float32.

        The last where that is exact.
        """
        x, w, x_zero, w_zero = operands
        sums = self.whole_sums(builder, operands, largest_bias(builder, b))
        if sums is not None:
            return sums if b is None else builder.map("add", sums, builder.cast(lowered_spread(builder, b, sums, 1), sums.dtype))
        steps = prod(extent for extent in w.shape[1:] if isinstance(extent, int))
        factor, summed = largest_factor(builder, x, x_zero), tuple(range(1, len(w.shape)))
        largest = largest_sum(builder, factor, w, w_zero, steps, summed, 0)
        sums = self.lowered_integers(builder, operands, "int32" if largest <= LARGEST_INT32 else "int64")
        return with_bias(builder, sums, largest, b, 1)


def _lowered_centred(builder: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    """x less its zero point, one or one for each index of its first dimension, in float32."""
    if zero is None or is_known_as_0(builder, zero):
        return builder.cast(x, "float32")
    return builder.body(centred(0, 1), x, lowered_spread(builder, zero, x, 0), dtype="float32", kind="centre")


def _check_conv_zeros(x: Any, x_zero: Any, w: Any, w_zero: Any) -> None:
    _check_zeros(x, x_zero, w, w_zero, "xw")
    sizes = {(), (1,), (w.shape[0],)}
    if w_zero is not None and w_zero.shape not in sizes:
        text = f"zero points of shape {shape_text(w_zero.shape)} for {w.shape[0]} filters"
        raise ShapeError(text, where="quantisation", why="there is one for all filters, or one for each")
