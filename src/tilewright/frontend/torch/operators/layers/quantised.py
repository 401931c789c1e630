"""Numbers as multiples of a scale, counted from a zero point: what PT2E puts around convolutions and linear layers.

Formulas: `torch/ao/quantization/fx/_decomposed.py`. Dequantised bytes are written as products with bytes are recognised by
(`graph/rewrites/integer_products.py`): (number - zero point) scale, of which the last two are constants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.builder import Operand
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

SMALL = ("int8", "uint8", "int16", "uint16")
"""Types whose values all are float32 values, in which maps compute."""
_CENTRED = apply("multiply", apply("subtract", Load(0), Load(1)), Load(2))
"""(number - zero point) scale."""


@lowers("quantized_decomposed.quantize_per_tensor.default")
def quantized(call: Call) -> Tensor:
    """x / scale rounded to even, plus the zero point, within a range."""
    return _quantized(call, (1.0 / call["scale"], float(_zero_point(call))))


@lowers("quantized_decomposed.quantize_per_channel.default")
def quantized_by_channel(call: Call) -> Tensor:
    """The same with a scale and a zero point for every index along an axis."""
    scales, zeros = call.tensor("scales", "float32"), call.tensor("zero_points")
    inverse = call.builder.map("reciprocal", scales)
    return _quantized(call, (_along(call, inverse), _along(call, zeros)))


_LEVEL = apply("add", apply("round", apply("multiply", Load(0), apply("divide", Literal(1.0), Load(1)))), Load(2))
"""x / scale rounded to even, plus the zero point."""


@lowers("aten.fake_quantize_per_tensor_affine_cachemask.default")
def quantized_and_back(call: Call) -> tuple[Tensor, None]:
    """The multiple of a scale that x is quantised to; which elements are within the range is not given."""
    return _rounded_to_levels(call, (float(np.float32(call["scale"])), float(_zero_point(call)))), None


@lowers("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def quantized_and_back_by_tensors(call: Call) -> tuple[Tensor, None]:
    """The same with scale, zero point and whether it is done as tensors of one element."""
    scale, zero, enabled = (_single(call, name) for name in ("scale", "zero_point", "fake_quant_enabled"))
    found, x = _rounded_to_levels(call, (scale, zero)), call.tensor("self")
    return call.body(apply("where", apply("not_equal", Load(0), Literal(0.0)), Load(1), Load(2)), enabled, found, x), None


@lowers("aten.fake_quantize_per_channel_affine_cachemask.default")
def quantized_and_back_by_channel(call: Call) -> tuple[Tensor, None]:
    """The same with a scale and a zero point for every index along an axis."""
    scales, zeros = call.tensor("scale", "float32"), call.tensor("zero_point")
    return _rounded_to_levels(call, (_along(call, scales), _along(call, zeros))), None


def _single(call: Call, name: str) -> Tensor:
    return call.builder.reshape(call.tensor(name), ())


def _rounded_to_levels(call: Call, parameters: Sequence[Operand]) -> Tensor:
    """ATen (`aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp`) quantises NaN to the least number."""
    zero, low, high = parameters[1], float(call["quant_min"]), float(call["quant_max"])
    is_whole = not isinstance(zero, Tensor) or zero.dtype == "int32"
    if call.result.dtype != "float32" or not is_whole or max(abs(low), abs(high)) > LARGEST_WHOLE:
        raise call.refuse(f"of {call.result.dtype}, or a zero point that is no int32")
    bounded = apply("minimum", apply("maximum", _LEVEL, Literal(low)), Literal(high))
    number = apply("where", apply("isnan", _LEVEL), Literal(low), bounded)
    body = apply("multiply", apply("subtract", number, Load(2)), Load(1))
    return call.body(body, call.tensor("self"), *parameters, accumulator="float32")


def _quantized(call: Call, parameters: Sequence[Operand]) -> Tensor:
    target, low, high = call.result.dtype, call["quant_min"], call["quant_max"]
    if target not in SMALL or call.tensor("input").dtype not in ("float32", "float16", "bfloat16"):
        raise call.refuse(f"to {target}")
    shifted = apply("add", apply("round", apply("multiply", Load(0), Load(1))), Load(2))
    bounded = apply("minimum", apply("maximum", shifted, Literal(float(low))), Literal(float(high)))
    x = call.tensor("input", "float32")
    return call.builder.body(bounded, x, *parameters, dtype=target, accumulator="float32", kind="quantize")


@lowers("quantized_decomposed.dequantize_per_tensor.default")
def dequantized(call: Call) -> Tensor:
    """(number - zero point) scale."""
    number, zero, scale = call.tensor("input"), _zero_point(call), np.float32(call["scale"])
    limits = np.iinfo(number.dtype)
    if not limits.min <= zero <= limits.max:
        raise call.refuse(f"a zero point of {zero} of {number.dtype}")
    return _dequantized(call, number, call.builder.literal(np.array(zero, number.dtype)), call.builder.literal(scale))


@lowers("quantized_decomposed.dequantize_per_channel.default")
def dequantized_by_channel(call: Call) -> Tensor:
    """The same with a scale and a zero point for every index along an axis."""
    number, scales = call.tensor("input"), _along(call, call.tensor("scales"))
    if call["zero_points"] is None:
        return _dequantized(call, number, None, scales)
    return _dequantized(call, number, _along(call, call.tensor("zero_points")), scales)


def _dequantized(call: Call, number: Tensor, zero: Tensor | None, scale: Tensor) -> Tensor:
    if number.dtype not in SMALL or scale.dtype != "float32" or call.result.dtype != "float32":
        raise call.refuse(f"of {number.dtype} by {scale.dtype} to {call.result.dtype}")
    operands = (number, 0.0 if zero is None else zero, scale)
    body = apply("multiply", Load(0), Load(2)) if zero is None else _CENTRED
    return call.builder.body(body, *operands, dtype="float32", accumulator="float32", kind="dequantize")


def _zero_point(call: Call) -> int:
    """The zero point. Raises `UnsupportedOperation` for one that float32 does not hold."""
    zero = call["zero_point"]
    if not isinstance(zero, int) or abs(zero) > LARGEST_WHOLE:
        raise call.refuse(f"a zero point of {zero}")
    return zero


def _along(call: Call, parameter: Tensor) -> Tensor:
    """A number for every index along the axis, so that it broadcasts to the operand."""
    rank, axis = len(call.result.shape), call["axis"]
    return call.builder.reshape(parameter, (parameter.shape[0], *(1,) * (rank - 1 - axis % rank)))
