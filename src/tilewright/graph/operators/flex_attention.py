"""FlexAttention: attention whose scores and probabilities pass through graphs of the model's own.

J. Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels", arXiv:2412.05496 (2024),
section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import element_type
from tilewright.graph.operators.softmax import numpy_meaning as softmax
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

Modification = Callable[[Any], Sequence[Any]]


def meaning(
    q: Any,
    k: Any,
    v: Any,
    *,
    prob_mod: Modification | None = None,
    scale: float | None = None,
    score_mod: Modification | None = None,
    softmax_precision: int | None = None,
) -> Any:
    """`prob_mod(softmax(score_mod(q k^T scale))) v` of [batch, heads, length, size]; groups of query heads share keys."""
    group = _group(q.shape, k.shape, v.shape)
    default = np.result_type(q.dtype, np.float32)
    precise = default if softmax_precision is None else element_type(softmax_precision)
    keys, values = (np.repeat(np.asarray(one, default), group, axis=1) for one in (k, v))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = (np.asarray(q, default) @ keys.swapaxes(-1, -2) * default.type(factor)).astype(precise)
    shares = softmax(_modified(score_mod, scores))
    return (_modified(prob_mod, shares).astype(default) @ values).astype(q.dtype)


def lower(
    builder: Builder,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prob_mod: Modification | None = None,
    scale: float | None = None,
    score_mod: Modification | None = None,
    softmax_precision: int | None = None,
) -> Tensor:
    """Two products and a softmax, in float32, without graphs between them."""
    if score_mod or prob_mod or q.dtype != "float32" or softmax_precision not in (None, 1):
        raise UnsupportedOperation("FlexAttention with graphs inside, or in another type than float32")
    group, size = _group(q.shape, k.shape, v.shape), q.shape[3]
    if group > 1:
        raise UnsupportedOperation("FlexAttention with shared keys")
    if scale is None and not isinstance(size, int):
        raise UnsupportedOperation("FlexAttention of heads whose size is not known")
    factor = 1 / math.sqrt(float(str(size))) if scale is None else scale
    scores = builder.map("multiply", builder.einsum("bhik,bhjk->bhij", q, k), factor)
    return builder.matmul(builder.softmax(scores, -1), v)


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


define("FlexAttention", meaning, lower, domain="ai.onnx.preview")
