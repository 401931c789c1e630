"""The chains of Tables IV and V as NumPy functions, written as by a user."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.tune.shapes import ConvChainShape


def gemm_chain(a: Any, b: Any, d: Any) -> Any:
    """e = (a b) d; a (batch, m, k), b (batch, k, l), d (batch, l, n)."""
    return tw.einsum("bml,bln->bmn", tw.einsum("bmk,bkl->bml", a, b), d)


def attention(q: Any, k: Any, v: Any) -> Any:
    """softmax(q k) v, the softmax over l; q (batch, m, k), k (batch, k, l), v (batch, l, n)."""
    scores = tw.einsum("bmk,bkl->bml", q, k)
    return tw.einsum("bml,bln->bmn", tw.softmax(scores, axis=-1), v)


def conv_chain(shape: ConvChainShape, *, with_relu: bool, dtype: str = "float32") -> Callable[[Any], Any]:
    """Two convolutions of an image (1, channels, height, width), with or without relu in between; filters are of type `dtype`.

    Filters are random, and constants: the function closes over them, as the weights of a model stand in its file. Plans and
    times do not depend on their values.
    """
    generator = np.random.default_rng(0)
    first, second = (generator.normal(scale=prod(filters[1:]) ** -0.5, size=filters).astype(dtype) for filters in shape.filters)

    def conv_chain(image: Any) -> Any:
        middle = tw.conv2d(image, first, stride=shape.strides[0], padding=shape.paddings[0])
        return tw.conv2d(tw.relu(middle) if with_relu else middle, second, stride=shape.strides[1], padding=shape.paddings[1])

    return conv_chain
