"""Transpose: the dimensions in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose:
    """The order that is given, or the reverse."""

    perm: Sequence[int] | None = None

    def reference(self, x: Any) -> Any:
        if self.perm is not None and sorted(self.perm) != list(range(x.ndim)):
            raise ShapeError(f"{tuple(self.perm)} is no permutation of {x.ndim} dimensions", where="Transpose")
        return np.transpose(x, None if self.perm is None else tuple(self.perm))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """An index change."""
        order = tuple(reversed(range(len(x.shape)))) if self.perm is None else tuple(self.perm)
        return x if order == tuple(range(len(x.shape))) else builder.transpose(x, order)


define("Transpose", Transpose)
