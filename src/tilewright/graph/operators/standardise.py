"""MeanVarianceNormalization and LpNormalization: x less its mean, over its deviation; x over its p-norm along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import normalize_axes, normalize_axis
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

SMALL = 1e-9
"""Added to the deviation (ONNX, MeanVarianceNormalization)."""


def meaning(x: Any, *, axes: Sequence[int] = (0, 2, 3)) -> Any:
    """The same by NumPy."""
    over = normalize_axes(tuple(axes), x.ndim, where="MeanVarianceNormalization")
    data = x.astype(np.result_type(x.dtype, np.float32))
    centred = data - data.mean(axis=over, keepdims=True)
    return np.asarray(centred / (np.sqrt(np.square(centred).mean(axis=over, keepdims=True)) + data.dtype.type(SMALL)), x.dtype)


def lower(builder: Builder, x: Tensor, *, axes: Sequence[int] = (0, 2, 3)) -> Tensor:
    """Two means and two maps."""
    centred = builder.map("subtract", x, builder.reduce("mean", x, tuple(axes), keepdims=True))
    variance = builder.reduce("mean", builder.map("square", centred), tuple(axes), keepdims=True)
    deviation = builder.map("add", builder.map("sqrt", variance), SMALL)
    return builder.map("divide", centred, deviation)


def lp_meaning(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    """The same by NumPy; a row of zeros stays."""
    along = normalize_axis(axis, x.ndim, where="LpNormalization")
    data = x.astype(np.result_type(x.dtype, np.float32))
    norm = np.abs(data).sum(axis=along, keepdims=True) if p == 1 else np.sqrt(np.square(data).sum(axis=along, keepdims=True))
    return np.asarray(np.where(norm == 0, 0, data / np.where(norm == 0, 1, norm)), x.dtype)


def lp_lower(builder: Builder, x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """A map, a sum, and a map."""
    if p not in (1, 2):
        raise UnsupportedOperation(f"LpNormalization with p of {p}", where="LpNormalization")
    along = normalize_axis(axis, len(x.shape), where="LpNormalization")
    sizes = builder.map("abs" if p == 1 else "square", x)
    norm = builder.reduce("sum", sizes, (along,), keepdims=True)
    norm = norm if p == 1 else builder.map("sqrt", norm)
    divided = apply("divide", Load(0), Load(1))
    body = apply("where", apply("equal", Load(1), Literal(0.0)), Literal(0.0), divided)
    return builder.body(body, x, norm, kind="lp_norm")


define("MeanVarianceNormalization", meaning, lower)
define("LpNormalization", lp_meaning, lp_lower)
