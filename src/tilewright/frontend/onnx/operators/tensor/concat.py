"""Concat: tensors behind each other along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenated
from tilewright.graph.builders.concatenate_lengths import concatenate_lengths
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import SymbolicExtent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Concat:
    """All parts."""

    axis: int

    def reference(self, *parts: Any) -> Any:
        if len({part.ndim for part in parts}) > 1:
            raise ShapeError("the ranks of the parts differ", where=f"Concat of {[part.shape for part in parts]}")
        return np.concatenate(parts, axis=normalize_axis(self.axis, parts[0].ndim, "Concat"))

    def lower(self, builder: Builder, *parts: Tensor) -> Tensor:
        """One map with guarded reads of the parts that have elements."""
        rank = len(parts[0].shape) if parts else 0
        chosen = normalize_axis(self.axis, rank, "Concat")
        present = [part for part in parts if part.shape[chosen] != 0] or list(parts[:1])
        if len(present) == 1:
            return present[0]
        if any(isinstance(part.shape[chosen], SymbolicExtent) for part in present):
            return concatenate_lengths(builder, present, chosen)
        return concatenated(builder, present, chosen)


define("Concat", Concat, since=4)
