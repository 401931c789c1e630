"""Random tensors. ONNX leaves the generator open: a seed gives the same numbers at every call here, none gives others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size, element_type


def uniform(*, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None, shape: Sequence[int]) -> Any:
    """Numbers from [low, high)."""
    return _generator(seed).uniform(low, high, check_size(shape, "RandomUniform")).astype(element_type(dtype))


def uniform_like(x: Any, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float | None = None) -> Any:
    """The same in the shape of x and, without `dtype`, in its type."""
    return _generator(seed).uniform(low, high, np.shape(x)).astype(_type(x, dtype))


def normal(*, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None, shape: Sequence[int]) -> Any:
    """Numbers with a mean and a standard deviation, `scale`."""
    return _generator(seed).normal(mean, abs(scale), check_size(shape, "RandomNormal")).astype(element_type(dtype))


def normal_like(x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None) -> Any:
    """The same in the shape of x and, without `dtype`, in its type."""
    return _generator(seed).normal(mean, abs(scale), np.shape(x)).astype(_type(x, dtype))


def bernoulli(x: Any, *, dtype: int | None = None, seed: float | None = None) -> Any:
    """1 with the probability that x gives, else 0."""
    return (_generator(seed).random(np.shape(x)) < np.asarray(x, np.float64)).astype(_type(x, dtype))


def multinomial(x: Any, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Any:
    """For every row of log-probabilities [batch, classes], which need not be normalised, `sample_size` classes."""
    if np.ndim(x) != 2 or not x.shape[1]:
        raise ShapeError(f"log-probabilities of shape {np.shape(x)}", where="Multinomial", why="[batch, classes] is wanted")
    shape = check_size((x.shape[0], sample_size), "Multinomial")
    shares = np.cumsum(np.exp(np.asarray(x, np.float64) - x.max(axis=1, keepdims=True)), axis=1)
    drawn = _generator(seed).random(shape) * shares[:, -1:]
    rows = [np.searchsorted(share, row, side="right") for share, row in zip(shares, drawn, strict=True)]
    return np.minimum(np.reshape(rows, shape), x.shape[1] - 1).astype(element_type(dtype))


def _generator(seed: float | None) -> np.random.Generator:
    """A generator for a seed, which may be any float32, or for none."""
    return np.random.default_rng(None if seed is None else int(np.float32(seed).view(np.uint32)))


def _type(x: Any, dtype: int | None) -> Any:
    return x.dtype if dtype is None else element_type(dtype)


define("RandomUniform", uniform, is_random=True)
define("RandomUniformLike", uniform_like, is_random=True)
define("RandomNormal", normal, is_random=True)
define("RandomNormalLike", normal_like, is_random=True)
define("Bernoulli", bernoulli, since=15, is_random=True)
define("Multinomial", multinomial, since=7, is_random=True)
