"""Multinomial: classes drawn by their log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.generator.seeds import generator_of
from tilewright.frontend.onnx.sizes import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Multinomial:
    """For every row of log-probabilities [batch, classes], which need not be normalized, `sample_size` classes."""

    dtype: int = 6
    sample_size: int = 1
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        if np.ndim(x) != 2 or not x.shape[1]:
            text = f"log-probabilities of shape {np.shape(x)}"
            raise ShapeError(text, where="Multinomial", why="[batch, classes] is wanted")
        shape = check_size((x.shape[0], self.sample_size), "Multinomial")
        shares = np.cumsum(np.exp(np.asarray(x, np.float64) - x.max(axis=1, keepdims=True)), axis=1)
        drawn = generator_of(self.seed).random(shape) * shares[:, -1:]
        rows = [np.searchsorted(share, row, side="right") for share, row in zip(shares, drawn, strict=True)]
        return np.minimum(np.reshape(rows, shape), x.shape[1] - 1).astype(element_type(self.dtype))


define("Multinomial", Multinomial, since=7, is_random=True)
