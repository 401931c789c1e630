"""Small arrays of integers some of which are extents known at run time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.frontend.onnx.model import Array
from tilewright.graph.expressions.extents import SymbolicExtent, value_of
from tilewright.records import record


@record(eq=False)
class Symbolic:
    """Contents some of which are symbolic: an array of objects (integers and `SymbolicExtent`s), and the type it stands for."""

    array: Array
    dtype: str = "int64"

    def evaluate(self, symbols: Mapping[str, int]) -> Array:
        """The array, where symbols have values."""
        flat = [value_of(one, symbols) if isinstance(one, SymbolicExtent) else one for one in self.array.reshape(-1).tolist()]
        return np.array(flat, self.dtype).reshape(self.array.shape)
