"""Dropout of ONNX: nothing in inference; in training, elements are left out at random and the others scaled up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(x: Any, ratio: Any = None, training_mode: Any = None, *, seed: int | None = None, output_count: int = 1) -> Any:
    """The operand and which of its elements were kept."""
    share = 0.5 if ratio is None else float(np.asarray(ratio).reshape(()))
    is_training = training_mode is not None and bool(np.asarray(training_mode).reshape(()))
    kept = np.ones(x.shape, bool)
    result = x
    if is_training and share:
        kept = np.random.RandomState(seed).uniform(0, 1, x.shape) >= share
        result = np.asarray(x * kept / (1 - share), x.dtype)
    return (result, kept) if output_count > 1 else result


def lower(
    builder: Builder,
    x: Tensor,
    ratio: Tensor | None = None,
    training_mode: Tensor | None = None,
    *,
    seed: int | None = None,
    output_count: int = 1,
) -> Tensor | tuple[Tensor, Tensor]:
    """Nothing, in inference."""
    if training_mode is not None and builder.contents(training_mode).any():
        raise UnsupportedOperation("Dropout in training in generated code")
    if output_count < 2:
        return x
    if not all(isinstance(extent, int) for extent in x.shape):
        raise UnsupportedOperation("the mask of Dropout in a shape that is known at run time")
    return x, builder.constant(np.ones([int(str(extent)) for extent in x.shape], bool))


def attribute_meaning(x: Any, *, ratio: float = 0.5, output_count: int = 1) -> Any:
    """The operand and that all of it is kept."""
    return (x, np.ones(x.shape, bool)) if output_count > 1 else x


def attribute_lower(builder: Builder, x: Tensor, *, ratio: float = 0.5, output_count: int = 1) -> Any:
    """Nothing."""
    return lower(builder, x, output_count=output_count)


define("Dropout", attribute_meaning, attribute_lower, since=7)
define("Dropout", meaning, lower, since=12, is_random=True)
