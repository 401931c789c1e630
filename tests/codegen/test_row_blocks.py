"""Convolutions by row blocks, compiled: copies of blocks in one chain with their product, special values included."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tests.codegen.test_convolution_algorithms import VALUES, graph_of, wanted
from tests.codegen.test_convolutions import EPS, Floats, normal, run
from tests.support.algorithms import forced
from tests.support.guarded import in_child
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.algorithms import windows_by_columns

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "a first layer": ((1, 3, 48, 64), (20, 3, 7, 7), {"strides": (2, 2), "pads": (3, 3, 3, 3)}),
    "neighbours": ((1, 16, 24, 40), (17, 16, 3, 3), {"pads": (1, 1, 1, 1)}),
    "two images": ((2, 9, 24, 21), (10, 9, 3, 3), {"pads": (1, 2, 1, 0)}),
    "groups": ((2, 8, 24, 24), (12, 4, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    "dilated": ((1, 12, 24, 24), (13, 12, 3, 3), {"dilations": (3, 2), "pads": (3, 2, 3, 2)}),
    "steps beyond kernels": ((1, 5, 71, 70), (6, 5, 2, 2), {"strides": (3, 3), "pads": (0, 1, 1, 0)}),
    "an empty batch": ((0, 5, 24, 24), (6, 5, 3, 3), {"pads": (1, 1, 1, 1)}),
}


def check(x: Floats, w: Floats, options: dict[str, Any], least_pixels: int, constant: bool) -> None:
    """The sums, to the error of float32."""
    with np.errstate(invalid="ignore"):
        exact, size = wanted(x, w, options)
    with patch.object(windows_by_columns, "LEAST_PIXELS", least_pixels), forced(windows_by_columns.ROW_BLOCKS.name):
        found = run(graph_of(x, w, options, constant), [x] if constant else [x, w])
    finite = np.isfinite(exact)
    assert np.array_equal(found[~finite], exact[~finite].astype(np.float32), equal_nan=True)
    assert np.all(np.abs(found - exact)[finite] <= (4 + w[0].size) * EPS * (size[finite] + 1))


@pytest.mark.parametrize("name", CASES)
def test_row_blocks(name: str) -> None:
    shape, filters, options = CASES[name]
    x = normal(*shape)
    in_child(check, x, normal(*filters), options, 64, True)
    if x.size:
        x.flat[np.random.default_rng(0).choice(x.size, 6, replace=False)] = VALUES
        in_child(check, x, normal(*filters), options, 24, False)


def behind(x: Floats, w: Floats, options: dict[str, Any]) -> Graph:
    """The convolution, its bias and a relu, and filters of one tap with relu behind them."""
    builder = Builder("pair")
    image = builder.input("x", x.shape, "float32")
    y = operator("Conv", 21, **options).lower(builder, image, builder.constant(w), builder.constant(bias(w)))
    points = operator("Conv", 21).lower(builder, builder.map("relu", y), builder.constant(POINTS), builder.constant(bias(POINTS)))
    return builder.graph((builder.map("relu", points).name,))


def bias(w: Floats) -> Floats:
    return np.linspace(-1, 1, w.shape[0], dtype=np.float32)


POINTS = normal(7, 20, 1, 1)


def check_pair(x: Floats, w: Floats, options: dict[str, Any]) -> None:
    """The results of the pair, computed as one chain."""
    exact, size = wanted(x, w, options)
    expected, _ = wanted(exact, POINTS.astype(np.float64), {})
    error, _ = wanted(size + 1, np.abs(POINTS).astype(np.float64), {})
    with patch.object(windows_by_columns, "LEAST_PIXELS", 64), forced(windows_by_columns.ROW_BLOCKS.name):
        graph = behind(x, w, options)
        plans = compiler.plan(graph, Machine.detect(), fuse=True).plans
        found = run(graph, [x])
    assert any({"conv", "conv_2"} <= {operator.name for operator in plan.chain.operators} for plan in plans)
    assert np.all(np.abs(found - expected) <= (8 + w[0].size + POINTS.shape[1]) * EPS * (error + 1))


def test_a_product_behind_walks_the_blocks() -> None:
    """Blocks of copies, of sums and of what reads these are one chain."""
    in_child(check_pair, normal(1, 5, 33, 41), normal(20, 5, 3, 3), {"strides": (2, 2), "pads": (1, 1, 0, 1)})
