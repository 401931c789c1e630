"""Rows of one kernel for all extents: the bits of a row do not depend on how many rows are computed with it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tilewright as tw

Array = Any
WIDTH = 77
WEIGHTS = np.random.default_rng(3).standard_normal((WIDTH, 21)).astype(np.float32)
SCALE = np.random.default_rng(4).standard_normal(WIDTH).astype(np.float32)
COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 24, 25)

FUNCTIONS: dict[str, Callable[..., Array]] = {
    "sum": lambda x: x.sum(axis=-1),
    "mean": lambda x: x.mean(axis=-1),
    "product": lambda x: x.prod(axis=-1),
    "maximum": lambda x: x.max(axis=-1),
    "minimum": lambda x: x.min(axis=-1),
    "squares": lambda x: (x * x).sum(axis=-1),
    "variance": lambda x: tw.mean(tw.square(x - tw.mean(x, axis=-1, keepdims=True)), axis=-1),
    "of a map": lambda x: tw.exp(x).sum(axis=-1),
    "centred": lambda x: x - x.mean(axis=-1, keepdims=True),
    "softmax": lambda x: tw.softmax(x, axis=-1),
    "layer norm": lambda x: tw.layer_norm(x, weight=SCALE, bias=SCALE),
    "rms norm": lambda x: tw.rms_norm(x, weight=SCALE),
    "product of matrices": lambda x: x @ WEIGHTS,
    "gelu of a product": lambda x: tw.gelu(x @ WEIGHTS),
    "softmax of a product": lambda x: tw.softmax(x @ WEIGHTS, axis=-1),
}


def _rows(count: int) -> Array:
    x = np.random.default_rng(count).standard_normal((count, WIDTH)).astype(np.float32)
    x[::3, ::5] = 0.0
    x[1::3, ::7] = -0.0
    return x


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_has_the_same_bits_alone_and_among_others(name: str, threads: int) -> None:
    general = tw.jit(FUNCTIONS[name], threads=threads)
    for learned in (31, 32, 33):
        general(_rows(learned))
    x = _rows(max(COUNTS))
    alone = np.concatenate([general(x[i : i + 1]) for i in range(len(x))])
    for count in COUNTS:
        together = general(x[:count])
        assert together.tobytes() == alone[:count].tobytes(), f"{count} rows"


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        *(("sum", columns) for columns in (1, 15, 16, 17, 63, 64, 65, 200, 1000)),
        *product(("product", "maximum", "mean"), (1, 17, 64, 200)),
    ],
)
def test_rows_of_any_length(name: str, columns: int) -> None:
    general = tw.jit(FUNCTIONS[name], threads=1)
    data = np.random.default_rng(columns).uniform(0.9, 1.1, (12, columns)).astype(np.float32)
    for learned in ((12, columns), (11, columns), (10, columns)):
        general(data[: learned[0]])
    alone = np.concatenate([general(data[i : i + 1]) for i in range(len(data))])
    for count in range(1, len(data) + 1):
        assert general(data[:count]).tobytes() == alone[:count].tobytes(), f"{count} rows"
