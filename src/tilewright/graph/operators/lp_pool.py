"""LpPool and GlobalLpPool: the p-norm of every window, and of every channel.  y = (sum |x|^p)^(1/p)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.operators.reduce import REDUCTIONS
from tilewright.graph.operators.windows import window_of, windowed, windows
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(
    x: Any,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int] = (),
    p: int = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """The same by NumPy."""
    window = window_of(
        _spatial(x.shape, kernel_shape),
        kernel_shape,
        where="LpPool",
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
        ceil_mode=bool(ceil_mode),
    )
    powers = np.abs(x.astype(np.result_type(x.dtype, np.float32))) ** p
    view = windows(powers, window, 0)
    return np.asarray(view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim))) ** (1 / p), x.dtype)


def lower(
    builder: Builder,
    x: Tensor,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int] = (),
    p: int = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """A map, a sum for every dimension, and a map."""
    window = window_of(
        _spatial(x.shape, kernel_shape),
        kernel_shape,
        where="LpPool",
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
        ceil_mode=bool(ceil_mode),
    )
    powers = builder.body(power(p), x, kind="power")
    return builder.body(root(p), windowed(builder, powers, window, REDUCTIONS["sum"], 0.0), kind="root")


def global_meaning(x: Any, *, p: int = 2) -> Any:
    """The same by NumPy, over all of every channel."""
    powers = np.abs(x.astype(np.result_type(x.dtype, np.float32))) ** p
    return np.asarray(powers.sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / p), x.dtype)


def global_lower(builder: Builder, x: Tensor, *, p: int = 2) -> Tensor:
    """A map, a sum and a map."""
    powers = builder.body(power(p), x, kind="power")
    sums = builder.reduce("sum", powers, tuple(range(2, len(x.shape))), keepdims=True)
    return builder.body(root(p), sums, kind="root")


def power(p: int) -> Scalar:
    """|x|^p.

    >>> power(1)
    Apply(function='abs', operands=(Load(read=0),))
    """
    size = apply("abs", Load(0))
    result: Scalar = size
    for _ in range(p - 1):
        result = apply("multiply", result, size)
    return apply("square", Load(0)) if p == 2 else result


def root(p: int) -> Scalar:
    """x^(1/p) for x >= 0: exp(log(x) / p) but for p of 1 and 2."""
    if p <= 2:
        return Load(0) if p == 1 else apply("sqrt", Load(0))
    return apply("exp", apply("multiply", apply("log", Load(0)), Literal(1.0 / p)))


def _spatial(shape: Sequence[Any], kernel_shape: Sequence[int]) -> Sequence[Any]:
    if len(shape) < 3 or len(kernel_shape) != len(shape) - 2:
        raise ShapeError(f"LpPool of {shape_text(shape)} with kernel_shape {tuple(kernel_shape)}", where="LpPool")
    return shape[2:]


define("LpPool", meaning, lower)
define("GlobalLpPool", global_meaning, global_lower)
