"""Convolutions by padded rows, compiled: in one chain with what follows, special values and nested reduction loops included."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.test_convolution_algorithms import VALUES, graph_of, wanted
from tests.codegen.test_convolutions import EPS, Floats, normal, run
from tests.support.algorithms import forced
from tests.support.guarded import in_child
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.kernels import registered
from tilewright.machine import Machine
from tilewright.plan.algorithms import padded_rows

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "neighbours": ((1, 5, 9, 77), (7, 5, 3, 3), {"pads": (1, 1, 1, 1)}),
    "two images": ((2, 3, 6, 65), (13, 3, 3, 3), {"pads": (1, 2, 1, 0)}),
    "groups": ((2, 8, 5, 131), (12, 4, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    "rows with steps": ((1, 4, 11, 70), (6, 4, 5, 3), {"strides": (2, 1), "pads": (2, 1, 2, 1)}),
    "columns with steps": ((1, 5, 17, 141), (8, 5, 3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "steps beyond kernels": ((1, 5, 12, 210), (6, 5, 2, 2), {"strides": (3, 3), "pads": (0, 1, 1, 0)}),
    "dilated": ((1, 6, 12, 90), (9, 6, 3, 3), {"dilations": (3, 2), "pads": (3, 2, 3, 2)}),
    "a row of taps": ((1, 4, 6, 64), (5, 4, 1, 3), {"pads": (0, 1, 0, 1)}),
    "a volume": ((1, 3, 4, 5, 66), (6, 3, 2, 3, 3), {"pads": (0, 1, 1, 1, 1, 1)}),
    "an empty batch": ((0, 5, 9, 70), (6, 5, 3, 3), {"pads": (1, 1, 1, 1)}),
}


def check(x: Floats, w: Floats, options: dict[str, Any], constant: bool) -> None:
    """The sums, to the error of float32."""
    with np.errstate(invalid="ignore"):
        exact, size = wanted(x, w, options)
    with patch.multiple(padded_rows, LEAST_COLUMNS=8, LEAST_USED=0.0), forced(padded_rows.ALGORITHM.name):
        found = run(graph_of(x, w, options, constant), [x] if constant else [x, w])
    finite = np.isfinite(exact)
    assert np.array_equal(found[~finite], exact[~finite].astype(np.float32), equal_nan=True)
    assert np.all(np.abs(found - exact)[finite] <= (4 + w[0].size) * EPS * (size[finite] + 1))


@pytest.mark.parametrize("name", CASES)
def test_padded_rows(name: str) -> None:
    shape, filters, options = CASES[name]
    x = normal(*shape)
    in_child(check, x, normal(*filters), options, True)
    if x.size:
        x.flat[np.random.default_rng(0).choice(x.size, 6, replace=False)] = VALUES
        in_child(check, x, normal(*filters), options, False)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_padded_rows(data: st.DataObject) -> None:
    channels, filters, rows = (data.draw(st.integers(1, most)) for most in (20, 14, 9))
    columns, taps = data.draw(st.integers(20, 150)), data.draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    options = {"pads": data.draw(st.tuples(*[st.integers(2, 4)] * 4)), "strides": data.draw(st.tuples(*[st.integers(1, 2)] * 2))}
    in_child(check, normal(1, channels, rows, columns), normal(filters, channels, *taps), options, data.draw(st.booleans()))


def followed(x: Floats, w: Floats, v: Floats) -> Graph:
    """A convolution with neighbours and one of points, each with a relu."""
    builder = Builder("followed")
    image, first, second = builder.input("x", x.shape, "float32"), builder.constant(w), builder.constant(v)
    y = builder.map("relu", operator("Conv", 21, pads=(1, 1, 1, 1)).lower(builder, image, first))
    return builder.graph((builder.map("relu", operator("Conv", 21).lower(builder, y, second)).name,))


def check_followed(x: Floats, w: Floats, v: Floats) -> None:
    with patch.multiple(padded_rows, LEAST_COLUMNS=8, LEAST_USED=0.0), forced(padded_rows.ALGORITHM.name):
        found = run(followed(x, w, v), [x])
    first = np.maximum(operator("Conv", 21, pads=(1, 1, 1, 1)).reference(x.astype("f8"), w.astype("f8")), 0)
    wanted = np.maximum(operator("Conv", 21).reference(first, v.astype("f8")), 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 16, 40, 330), (2, 3, 7, 77)])
def test_filters_of_points_follow_in_the_chain(shape: tuple[int, ...]) -> None:
    in_child(check_followed, normal(*shape), normal(19, shape[1], 3, 3), normal(9, 19, 1, 1))


def test_tiles_sum_over_taps_and_channels_in_registers() -> None:
    """What a tile reads of 16 channels stays in L1; of 256 it does not, so that every tap is a call, unless calls were short."""
    for channels, taps, nested in (
        (16, 3, "matmul_avx512_f32_6x64_nest3"),
        (256, 3, ""),
        (20, 5, "matmul_avx512_f32_6x64_nest3"),
    ):
        graph = followed(normal(1, channels, 64, 512), normal(32, channels, taps, taps), normal(9, 32, 1, 1))
        with forced(padded_rows.ALGORITHM.name):
            plan = compiler.plan(graph, Machine.named("zen5"))
        calls = {part.calls.nested for each in plan.plans for part in each.operators if part.operator == "conv"}
        assert calls == {nested}


def test_nested_kernels_have_the_tile_that_names_them() -> None:
    by_name = {kernel.name: kernel for kernel in registered()}
    named = [kernel for kernel in by_name.values() if kernel.nested]
    assert named
    for kernel in named:
        nested = by_name[kernel.nested]
        assert (nested.rows, nested.columns, nested.features, nested.reduction_loops) == (
            kernel.rows,
            kernel.columns,
            kernel.features,
            3,
        )
