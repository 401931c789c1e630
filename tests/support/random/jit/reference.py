"""What the functions of programs mean, written in NumPy without Tilewright. Arrays may have any floating-point type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import (  # noqa: F401  # the functions that mean what NumPy's mean
    abs,
    add,
    arange,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asarray,
    astype,
    broadcast_to,
    ceil,
    clip,
    cos,
    cosh,
    divide,
    einsum,
    equal,
    exp,
    exp2,
    expand_dims,
    expm1,
    floor,
    fmod,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    matrix_transpose,
    max,
    maximum,
    mean,
    min,
    minimum,
    multiply,
    negative,
    not_equal,
    permute_dims,
    positive,
    pow,
    prod,
    reshape,
    round,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    squeeze,
    subtract,
    sum,
    swapaxes,
    tan,
    tanh,
    transpose,
    trunc,
    where,
)
from scipy import special

from tests.support import convolutions
from tests.support.convolutions import Case

acos, acosh, asin, asinh, atan, atan2, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh


def erfc(x: Any) -> Any:
    return special.erfc(x)


def erf(x: Any) -> Any:
    return special.erf(x)


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def reciprocal(x: Any) -> Any:
    return 1 / x


def sigmoid(x: Any) -> Any:
    return special.expit(x)


def silu(x: Any) -> Any:
    return x * special.expit(x)


def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2
    return x * special.ndtr(x)


def softmax(x: Any, axis: int = -1) -> Any:
    return special.softmax(x, axis=axis)


def safe_softmax(x: Any, axis: int = -1) -> Any:
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(x).all(axis=axis, keepdims=True), 0, special.softmax(x, axis=axis)).astype(x.dtype)


def layer_norm(x: Any, shape: Any = None, weight: Any = 1, bias: Any = 0, eps: float = 1e-5, axis: Any = None) -> Any:
    axes = axis if axis is not None else tuple(range(x.ndim - len(shape), x.ndim))
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + eps) * weight + bias


def rms_norm(x: Any, shape: Any = None, weight: Any = 1, eps: float = 1e-5, axis: Any = None) -> Any:
    axes = axis if axis is not None else tuple(range(x.ndim - len(shape), x.ndim))
    return x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + eps) * weight


def scaled_dot_product_attention(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: Any = None) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    allowed = np.ones(scores.shape[-2:], bool)
    if is_causal:
        allowed = np.tril(allowed)
    if mask is not None and mask.dtype == np.bool_:
        allowed = allowed & mask
    elif mask is not None:
        scores = scores + mask
    return safe_softmax(np.where(allowed, scores, -np.inf).astype(q.dtype)) @ v


def _convolution(kind: str, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, layout: str) -> Any:
    """By its definition; an image without a batch has a batch of one."""
    if x.ndim < w.ndim:
        return _convolution(kind, x[None], w, bias, stride, padding, dilation, groups, layout)[0]
    case = Case(x.shape, w.shape, stride, dilation, padding, groups)
    define = convolutions.convolved if kind == "conv" else convolutions.transposed
    first = np.moveaxis(x, -1, 1) if layout.endswith("C") else x
    y = define(case, first, w) + (0 if bias is None else bias.reshape(-1, *(1,) * len(stride)))
    return (np.moveaxis(y, 1, -1) if layout.endswith("C") else y).astype(x.dtype)


def _convolution_of(kind: str) -> Any:
    def function(
        x: Any, w: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any, groups: int = 1, layout: str = ""
    ) -> Any:
        return _convolution(kind, x, w, bias, stride, padding, dilation, groups, layout)

    return function


conv1d = conv2d = conv3d = _convolution_of("conv")
conv_transpose1d = conv_transpose2d = conv_transpose3d = _convolution_of("transpose")


def _pool_of(define: Any) -> Any:
    def function(x: Any, kernel: Any, *, stride: Any, padding: Any, layout: str = "", **options: Any) -> Any:
        first = np.moveaxis(x, -1, 1) if layout.endswith("C") else x
        y = define(Case(first.shape, kernel, stride, (1,) * len(kernel), padding, 1, options), first)
        return (np.moveaxis(y, 1, -1) if layout.endswith("C") else y).astype(x.dtype)

    return function


max_pool, avg_pool = _pool_of(convolutions.largest), _pool_of(convolutions.mean)
