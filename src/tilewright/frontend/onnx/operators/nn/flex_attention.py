"""FlexAttention: attention whose scores and probabilities pass through graphs of the model's own.

J. Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels", arXiv:2412.05496 (2024),
section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.softmax import numpy_reference as softmax
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Tensor

Modification = Callable[[Any], Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexAttention:
    """`prob_mod(softmax(score_mod(q k^T scale))) v` of [batch, heads, length, size]; groups of query heads share keys."""

    prob_mod: Modification | None = None
    scale: float | None = None
    score_mod: Modification | None = None
    softmax_precision: int | None = None

    def reference(self, q: Any, k: Any, v: Any) -> Any:
        group = _group(q.shape, k.shape, v.shape)
        default = np.result_type(q.dtype, np.float32)
        precise = default if self.softmax_precision is None else element_type(self.softmax_precision)
        keys, values = (np.repeat(np.asarray(x, default), group, axis=1) for x in (k, v))
        factor = 1 / math.sqrt(q.shape[-1]) if self.scale is None else self.scale
        scores = (np.asarray(q, default) @ keys.swapaxes(-1, -2) * default.type(factor)).astype(precise)
        shares = softmax(_modified(self.score_mod, scores))
        return (_modified(self.prob_mod, shares).astype(default) @ values).astype(q.dtype)

    def lower(self, builder: Builder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Two products and a softmax, in float32, without graphs between them."""
        if self.score_mod or self.prob_mod or q.dtype != "float32" or self.softmax_precision not in (None, 1):
            raise UnsupportedOperation("FlexAttention with graphs inside, or in another type than float32")
        if _group(q.shape, k.shape, v.shape) > 1:
            raise UnsupportedOperation("FlexAttention with shared keys")
        scores = builder.map("multiply", builder.einsum("bhik,bhjk->bhij", q, k), self._factor(q))
        return builder.matmul(builder.softmax(scores, -1), v)

    def _factor(self, q: Tensor) -> float:
        if self.scale is not None:
            return self.scale
        size = q.shape[3]
        if not isinstance(size, int):
            raise UnsupportedOperation("FlexAttention of heads whose size is not known")
        return 1 / math.sqrt(size)


def _group(q: Shape, k: Shape, v: Shape) -> int:
    """How many query heads share a head of the keys."""
    is_fit = len(q) == len(k) == len(v) == 4 and q[0] == k[0] == v[0] and k[1:3] == v[1:3] and q[3] == k[3]
    heads, shared = (q[1], k[1]) if is_fit else (1, 0)
    if not isinstance(heads, int) or not isinstance(shared, int) or not shared or heads % shared:
        raise ShapeError(f"queries {shape_text(q)}, keys {shape_text(k)}, values {shape_text(v)}", where="FlexAttention")
    return heads // shared


def _modified(modification: Modification | None, x: Any) -> Any:
    if modification is None:
        return x
    (result,) = modification(x)
    if np.shape(result) != x.shape:
        raise ShapeError(f"a graph makes {np.shape(result)} of {x.shape}", where="FlexAttention", why="it must keep the shape")
    return np.asarray(result)


define("FlexAttention", FlexAttention, domain="ai.onnx.preview")
