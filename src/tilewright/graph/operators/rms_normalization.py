"""RMSNormalization: rows over the dimensions from `axis` on, divided by the root of their mean square, then scaled.

Source: the ONNX operator schema; B. Zhang, R. Sennrich, arXiv:1910.07467 (2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.graph.definition import define
from tilewright.graph.element_types import element_type
from tilewright.graph.numpy_types import widened
from tilewright.graph.operators.layer_normalization import normalized
from tilewright.graph.operators.norm import rms_norm
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    """The normalised array, in the type of the scale."""
    axes = tuple(range(normalize_axis(axis, x.ndim, "RMSNormalization"), x.ndim))
    wide = widened(x.astype(element_type(stash_type)))
    root = np.sqrt(np.square(wide).mean(axis=axes, keepdims=True) + epsilon)
    return (widened((wide / root).astype(x.dtype)) * widened(scale)).astype(scale.dtype)


def lower(builder: Builder, x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Tensor:
    """One row operator."""
    axes = tuple(range(normalize_axis(axis, len(x.shape), "RMSNormalization"), len(x.shape)))
    return builder.cast(normalized(builder, rms_norm, x, (scale,), axes, epsilon, element_type(stash_type).name), scale.dtype)


define("RMSNormalization", meaning, lower, since=23)
