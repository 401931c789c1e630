"""Unique: the distinct elements or slices of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """The distinct ones, where each occurs first, which of them every element is, and how often they occur."""

    axis: int | None = None
    sorted: int = 1

    def reference(self, x: Any) -> Any:
        values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=self.axis)
        inverse = inverse.reshape(-1)
        if not self.sorted:
            order = np.argsort(first, kind="stable")
            inverse = np.argsort(order, kind="stable")[inverse]
            values, first, counts = np.take(values, order, axis=self.axis or 0), first[order], counts[order]
        return values, *(positions.astype(np.int64) for positions in (first, inverse, counts))


define("Unique", Unique, since=11)
