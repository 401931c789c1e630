"""LayerNormalization: rows over the dimensions from `axis` on, to mean 0 and variance 1, then scaled and shifted.

Source: the ONNX operator schema and its reference. Rows are normalized in the wider of their own type and `stash_type`, and in
float32 at least: the schema's function rounds float64 to float32 first, which the reference and onnxruntime do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.norms import layer_norm
from tilewright.graph.numpy_types import widened
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNormalization:
    """The normalized array, and if they are asked for the mean and the inverse standard deviation of every row."""

    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1
    output_count: int = 1

    def reference(self, x: Any, scale: Any, bias: Any = None) -> Any:
        stash = element_type(self.stash_type)
        axes = tuple(range(normalize_axis(self.axis, x.ndim, "LayerNormalization"), x.ndim))
        wide = x.astype(computed_in(x.dtype.name, stash.name))
        mean = wide.mean(axis=axes, keepdims=True)
        inverse = 1 / np.sqrt(np.square(wide - mean).mean(axis=axes, keepdims=True) + self.epsilon)
        result = widened(((wide - mean) * inverse).astype(x.dtype)) * widened(scale)
        result = result if bias is None else result + widened(bias)
        return (result.astype(x.dtype), mean.astype(stash), inverse.astype(stash))[: self.output_count]

    def lower(self, builder: Builder, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
        """One row-wise reduction; mean and deviation, where they are wanted, are reductions of their own."""
        axes = tuple(range(normalize_axis(self.axis, len(x.shape), "LayerNormalization"), len(x.shape)))
        stash = element_type(self.stash_type).name
        result = normalized(builder, layer_norm, x, (scale, bias), axes, self.epsilon, stash)
        if self.output_count == 1:
            return (result,)
        wide = builder.cast(x, computed_in(x.dtype, stash))
        mean = builder.reduce("mean", wide, axes, keepdims=True)
        squares = builder.body(apply("square", apply("subtract", Load(0), Load(1))), wide, mean, kind="squares")
        variance = builder.reduce("mean", squares, axes, keepdims=True)
        inverse = apply("reciprocal", apply("sqrt", apply("add", Load(0), Literal(self.epsilon))))
        deviation = builder.body(inverse, variance, kind="inverse_deviation")
        return (result, builder.cast(mean, stash), builder.cast(deviation, stash))[: self.output_count]


def computed_in(stored: str, stash: str) -> str:
    """The type that rows are normalized in.

    >>> computed_in("float16", "float32"), computed_in("float64", "float32"), computed_in("float32", "bfloat16")
    ('float32', 'float64', 'float32')
    """
    return "float64" if "float64" in (stored, stash) else "float32"


def normalized(
    builder: Builder, norm: Any, x: Tensor, weights: tuple[Tensor | None, ...], axes: tuple[int, ...], epsilon: float, stash: str
) -> Tensor:
    """The norm of x with its weights: inside the reduction if they have the extents of the axes, else by maps behind it."""
    computed = computed_in(x.dtype, stash)
    taken = x if computed == "float32" and x.dtype in ("float16", "bfloat16") else builder.cast(x, computed)
    given = [weight for weight in weights if weight is not None]
    options = {"has_bias": len(weights) > 1 and weights[1] is not None} if norm is layer_norm else {}
    row = tuple(x.shape[d] for d in axes)
    if all(weight.shape == row and weight.dtype == taken.dtype for weight in given):
        return builder.cast(builder.record(norm, [taken, *given], axes, epsilon, kind="norm", **options), x.dtype)
    options = dict.fromkeys(options, False)
    result = builder.cast(builder.record(norm, [taken], axes, epsilon, kind="norm", **options), x.dtype)
    for function, weight in zip(("multiply", "add"), weights, strict=False):
        result = result if weight is None else builder.map(function, result, weight)
    return result


define("LayerNormalization", LayerNormalization, since=17)
