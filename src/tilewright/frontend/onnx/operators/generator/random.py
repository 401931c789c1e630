"""Random tensors: normal and uniform numbers, ones by probabilities (Bernoulli), classes (Multinomial), and Dropout.

ONNX leaves the generator open: a seed gives the same numbers at every call, none gives new ones.

Dropout leaves elements out at random in training, and scales the others up; in inference it does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


def generator_of(seed: float | None) -> np.random.Generator:
    """A generator for a seed, which may be any float32, or for none."""
    return np.random.default_rng(None if seed is None else int(np.float32(seed).view(np.uint32)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomNormal:
    """Numbers with a mean and a standard deviation, `scale`."""

    dtype: int = 1
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None
    shape: Sequence[int]

    def reference(self) -> Any:
        shape = check_size(self.shape, "RandomNormal")
        return generator_of(self.seed).normal(self.mean, abs(self.scale), shape).astype(element_type(self.dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomNormalLike:
    """The same in the shape of x and, without `dtype`, in its type."""

    dtype: int | None = None
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        dtype = x.dtype if self.dtype is None else element_type(self.dtype)
        return generator_of(self.seed).normal(self.mean, abs(self.scale), np.shape(x)).astype(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomUniform:
    """Numbers from [low, high)."""

    dtype: int = 1
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None
    shape: Sequence[int]

    def reference(self) -> Any:
        shape = check_size(self.shape, "RandomUniform")
        return generator_of(self.seed).uniform(self.low, self.high, shape).astype(element_type(self.dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomUniformLike:
    """The same in the shape of x and, without `dtype`, in its type."""

    dtype: int | None = None
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        dtype = x.dtype if self.dtype is None else element_type(self.dtype)
        return generator_of(self.seed).uniform(self.low, self.high, np.shape(x)).astype(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bernoulli:
    """1 with the probability that x gives, else 0."""

    dtype: int | None = None
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        dtype = x.dtype if self.dtype is None else element_type(self.dtype)
        return (generator_of(self.seed).random(np.shape(x)) < np.asarray(x, np.float64)).astype(dtype)


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


define("RandomNormal", RandomNormal, is_random=True)
define("RandomNormalLike", RandomNormalLike, is_random=True)
define("RandomUniform", RandomUniform, is_random=True)
define("RandomUniformLike", RandomUniformLike, is_random=True)
define("Bernoulli", Bernoulli, since=15, is_random=True)
define("Multinomial", Multinomial, since=7, is_random=True)
define("Dropout", Dropout, since=7, by_attribute={"ratio": 0.5})
define("Dropout", Dropout, since=12, is_random=True)
