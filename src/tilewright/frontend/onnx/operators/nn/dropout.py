"""Dropout: nothing in inference; in training, elements are left out at random and the others scaled up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropout:
    """The operand, and which of its elements were kept."""

    seed: int | None = None
    output_count: int = 1

    def reference(self, x: Any, ratio: Any = None, training_mode: Any = None) -> Any:
        share = 0.5 if ratio is None else float(np.asarray(ratio).reshape(()))
        is_training = training_mode is not None and bool(np.asarray(training_mode).reshape(()))
        kept = np.ones(x.shape, bool)
        result = x
        if is_training and share:
            kept = np.random.RandomState(self.seed).uniform(0, 1, x.shape) >= share
            result = np.asarray(x * kept / (1 - share), x.dtype)
        return (result, kept) if self.output_count > 1 else result

    def lower(self, builder: Builder, x: Tensor, ratio: Tensor | None = None, training_mode: Tensor | None = None) -> Any:
        """Nothing, in inference."""
        if training_mode is not None and builder.constant_value(training_mode).any():
            raise UnsupportedOperation("Dropout in training in generated code")
        return _unchanged(builder, x, self.output_count)


def _unchanged(builder: Builder, x: Tensor, output_count: int) -> Any:
    """The operand, and a mask if it is asked for."""
    if output_count < 2:
        return x
    extents = [extent for extent in x.shape if isinstance(extent, int)]
    if len(extents) < len(x.shape):
        raise UnsupportedOperation("the mask of Dropout in a shape that is known at run time")
    return x, builder.constant(np.ones(extents, bool))


define("Dropout", Dropout, since=7, by_attribute={"ratio": 0.5})
define("Dropout", Dropout, since=12, is_random=True)
