"""Random graphs around products of integers and short floats: zero points, transposes, batches, maps before and behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.typed import Graphs
from tilewright.dtypes import dtype_named
from tilewright.graph.builders.einsum import einsum, integer_matmul
from tilewright.graph.builders.elementwise import elementwise
from tilewright.graph.builders.reshape import transpose
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

EXTENTS = (1, 2, 3, 5, 8, 17, 32, 33, 70)
BYTES = ("uint8", "int8")


def random_products(seed: int) -> Graphs:
    """One product of bytes or of bfloat16, or two of bytes, the second of what is made of the first."""
    random = np.random.default_rng(seed)
    graphs = Graphs()
    m, k, n = (int(random.choice(EXTENTS)) for _ in range(3))
    batch = (int(random.choice([2, 3])),) if random.random() < 0.3 else ()
    if random.random() < 0.4:
        _of_bfloat16(random, graphs, batch, m, k, n)
        return graphs
    found = _of_bytes(random, graphs, _bytes(random, graphs, (*batch, m, k)), n)
    if random.random() < 0.5:
        shorter = graphs.add(
            elementwise, apply("bitwise_xor", Load(0), Literal(float(random.integers(256)))), [found], dtype="int32"
        )
        dtype = str(random.choice(BYTES))
        _of_bytes(
            random, graphs, graphs.add(elementwise, Load(0), [shorter], dtype=dtype, kind="astype"), int(random.choice(EXTENTS))
        )
    return graphs


def _of_bytes(random: np.random.Generator, graphs: Graphs, left: Tensor, n: int) -> Tensor:
    """Bytes times a matrix of bytes less zero points, which there may be, and a map of the sums."""
    m, k = left.shape[-2:]
    assert isinstance(m, int)
    assert isinstance(k, int)
    right = _turned(random, graphs, lambda shape: _bytes(random, graphs, shape), (k, n))
    zeros = [_zero(random, graphs, tensor, shape) for tensor, shape in ((left, (m, 1)), (right, (1, n)))]
    sums = graphs.add(integer_matmul, left, right, *zeros)
    if random.random() < 0.5:
        return sums
    return graphs.add(elementwise, apply("add", Load(0), Literal(float(random.integers(-99, 99)))), [sums], dtype="int32")


def _zero(random: np.random.Generator, graphs: Graphs, tensor: Tensor, shape: tuple[int, int]) -> Tensor | None:
    """No zero point, one number, or a number for every row or column."""
    kind = int(random.integers(3))
    return None if kind == 0 else _bytes(random, graphs, () if kind == 1 else shape, tensor.dtype)


def _of_bfloat16(random: np.random.Generator, graphs: Graphs, batch: tuple[int, ...], m: int, k: int, n: int) -> None:
    """Whole numbers, whose sums float32 holds; the result is rounded to bfloat16, or not."""

    def numbers(shape: tuple[int, ...]) -> Tensor:
        return graphs.input(random.integers(-8, 9, shape).astype(dtype_named("bfloat16")))

    left, right = numbers((*batch, m, k)), _turned(random, graphs, numbers, (k, n))
    letters = "b" * len(batch)
    dtype = str(random.choice(["bfloat16", "float32"]))
    sums = graphs.add(einsum, f"{letters}mk,kn->{letters}mn", [left, right], dtype=dtype)
    if random.random() < 0.5:
        graphs.add(elementwise, apply("maximum", Load(0), Literal(0.0)), [sums], dtype=dtype)


def _turned(random: np.random.Generator, graphs: Graphs, make: Any, shape: tuple[int, int]) -> Tensor:
    """A matrix, or the transpose of a matrix."""
    tensor: Tensor = graphs.add(transpose, make(shape[::-1]), (1, 0)) if random.random() < 0.3 else make(shape)
    return tensor


def _bytes(random: np.random.Generator, graphs: Graphs, shape: tuple[int, ...], dtype: str = "") -> Tensor:
    """Numbers of the whole range, often the least and the largest."""
    dtype = dtype or str(random.choice(BYTES))
    limits = np.iinfo(dtype)
    if random.random() < 0.5:
        return graphs.input(np.asarray(random.choice([limits.min, limits.max], shape)).astype(dtype))
    return graphs.input(np.asarray(random.integers(limits.min, limits.max, shape, endpoint=True)).astype(dtype))
