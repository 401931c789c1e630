"""Convolutions by copies of row blocks and by padded rows, compiled: in one chain with what follows, special values included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
from tilewright.block.statements import VectorLoops
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.kernels import registered
from tilewright.machine import Machine
from tilewright.plan.algorithms import convolution_gemm
from tilewright.render.c.program import lower_program

Options = dict[str, Any]
BLOCKS, ROWS = "row blocks", "padded rows"
CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], Options]] = {
    "a first layer": (BLOCKS, (1, 3, 48, 64), (20, 3, 7, 7), {"strides": (2, 2), "pads": (3, 3, 3, 3)}),
    "blocks of neighbours": (BLOCKS, (1, 16, 24, 40), (17, 16, 3, 3), {"pads": (1, 1, 1, 1)}),
    "blocks of two images": (BLOCKS, (2, 9, 24, 21), (10, 9, 3, 3), {"pads": (1, 2, 1, 0)}),
    "blocks of groups": (BLOCKS, (2, 8, 24, 24), (12, 4, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    "dilated blocks": (BLOCKS, (1, 12, 24, 24), (13, 12, 3, 3), {"dilations": (3, 2), "pads": (3, 2, 3, 2)}),
    "blocks with steps beyond kernels": (BLOCKS, (1, 5, 71, 70), (6, 5, 2, 2), {"strides": (3, 3), "pads": (0, 1, 1, 0)}),
    "blocks of an empty batch": (BLOCKS, (0, 5, 24, 24), (6, 5, 3, 3), {"pads": (1, 1, 1, 1)}),
    "neighbours": (ROWS, (1, 5, 9, 77), (7, 5, 3, 3), {"pads": (1, 1, 1, 1)}),
    "two images": (ROWS, (2, 3, 6, 65), (13, 3, 3, 3), {"pads": (1, 2, 1, 0)}),
    "groups": (ROWS, (2, 8, 5, 131), (12, 4, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    "rows with steps": (ROWS, (1, 4, 11, 70), (6, 4, 5, 3), {"strides": (2, 1), "pads": (2, 1, 2, 1)}),
    "columns with steps": (ROWS, (1, 5, 17, 141), (8, 5, 3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "steps beyond kernels": (ROWS, (1, 5, 12, 210), (6, 5, 2, 2), {"strides": (3, 3), "pads": (0, 1, 1, 0)}),
    "dilated": (ROWS, (1, 6, 12, 90), (9, 6, 3, 3), {"dilations": (3, 2), "pads": (3, 2, 3, 2)}),
    "a row of taps": (ROWS, (1, 4, 6, 64), (5, 4, 1, 3), {"pads": (0, 1, 0, 1)}),
    "a volume": (ROWS, (1, 3, 4, 5, 66), (6, 3, 2, 3, 3), {"pads": (0, 1, 1, 1, 1, 1)}),
    "packed columns with steps, sums at once": ("as written", (1, 5, 17, 141), (8, 5, 3, 3), {"strides": (4, 4)}),
    "an empty batch": (ROWS, (0, 5, 9, 70), (6, 5, 3, 3), {"pads": (1, 1, 1, 1)}),
}


@contextmanager
def forced_by(variant: str, least_pixels: int = 64) -> Iterator[None]:
    """Inside, convolutions are computed by a variant, of images and rows of smaller sizes, too."""
    limits = {"LEAST_BLOCK_PIXELS": least_pixels, "LEAST_ROW_PIXELS": 8, "LEAST_LANES_USED": 0.0}
    with patch.multiple(convolution_gemm, **limits), forced(variant):
        yield


def check(variant: str, x: Floats, w: Floats, options: Options, constant: bool, least_pixels: int = 64) -> None:
    """The sums, to the error of float32."""
    with np.errstate(invalid="ignore"):
        exact, size = wanted(x, w, options)
    with forced_by(variant, least_pixels):
        found = run(graph_of(x, w, options, constant), [x] if constant else [x, w])
    finite = np.isfinite(exact)
    assert np.array_equal(found[~finite], exact[~finite].astype(np.float32), equal_nan=True)
    assert np.all(np.abs(found - exact)[finite] <= (4 + w[0].size) * EPS * (size[finite] + 1))


@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_the_convolution(name: str) -> None:
    variant, shape, filters, options = CASES[name]
    x = normal(*shape)
    in_child(check, variant, x, normal(*filters), options, True)
    if x.size:
        x.flat[np.random.default_rng(0).choice(x.size, 6, replace=False)] = VALUES
        in_child(check, variant, x, normal(*filters), options, False, 24)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_padded_rows(data: st.DataObject) -> None:
    channels, filters, rows = (data.draw(st.integers(1, most)) for most in (20, 14, 9))
    columns, taps = data.draw(st.integers(20, 150)), data.draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    options = {"pads": data.draw(st.tuples(*[st.integers(2, 4)] * 4)), "strides": data.draw(st.tuples(*[st.integers(1, 2)] * 2))}
    x, w = normal(1, channels, rows, columns), normal(filters, channels, *taps)
    in_child(check, ROWS, x, w, options, data.draw(st.booleans()))


def bias(w: Floats) -> Floats:
    return np.linspace(-1, 1, w.shape[0], dtype=np.float32)


def followed(x: Floats, w: Floats, v: Floats, options: Options) -> Graph:
    """A convolution and filters of one tap behind it, each with a bias and a relu."""
    builder = Builder("followed")
    image = builder.input("x", x.shape, "float32")
    y = operator("Conv", 21, **options).lower(builder, image, builder.constant(w), builder.constant(bias(w)))
    points = operator("Conv", 21).lower(builder, builder.map("relu", y), builder.constant(v), builder.constant(bias(v)))
    return builder.graph((builder.map("relu", points).name,))


def check_followed(variant: str, x: Floats, w: Floats, v: Floats, options: Options, fuse: bool | None) -> None:
    """The results of both, computed as one chain where they are fused."""
    exact, size = wanted(x, w, options)
    expected, _ = wanted(exact, v.astype(np.float64), {})
    error, _ = wanted(size + 1, np.abs(v).astype(np.float64), {})
    graph = followed(x, w, v, options)
    with forced_by(variant):
        found = run(graph, [x])
        plans = compiler.plan(graph, Machine.detect(), fuse=fuse).plans
    assert not fuse or any({"conv", "conv_2"} <= {operator.name for operator in plan.chain.operators} for plan in plans)
    assert np.all(np.abs(found - expected) <= (8 + w[0].size + v.shape[1]) * EPS * (error + 1))


@pytest.mark.parametrize(
    ("variant", "x", "filters", "options"),
    [
        (BLOCKS, (1, 5, 33, 41), (20, 7), {"strides": (2, 2), "pads": (1, 1, 0, 1)}),
        (ROWS, (1, 16, 40, 330), (19, 9), {"pads": (1, 1, 1, 1)}),
        (ROWS, (2, 3, 7, 77), (19, 9), {"pads": (1, 1, 1, 1)}),
    ],
)
def test_filters_of_points_follow_in_the_chain(variant: str, x: Any, filters: tuple[int, int], options: Options) -> None:
    """What reads sums walks the same rows or blocks."""
    first, second = filters
    fuse = True if variant == BLOCKS else None
    in_child(check_followed, variant, normal(*x), normal(first, x[1], 3, 3), normal(second, first, 1, 1), options, fuse)


def test_tiles_sum_over_taps_and_channels_in_registers() -> None:
    """What a tile reads of 16 channels stays in L1; of 256 it does not, so that every tap is a call, unless calls were short."""
    for channels, taps, nested in (
        (16, 3, "matmul_avx512_f32_6x64_nest3"),
        (256, 3, ""),
        (20, 5, "matmul_avx512_f32_6x64_nest3"),
    ):
        w, options = normal(32, channels, taps, taps), {"pads": (1, 1, 1, 1)}
        graph = followed(normal(1, channels, 64, 512), w, normal(9, 32, 1, 1), options)
        with forced(ROWS):
            plan = compiler.plan(graph, Machine.named("zen5"))
        calls = {part.calls.nested for each in plan.plans for part in each.operators if part.operator == "conv"}
        assert calls == {nested}


def test_lanes_of_copies_by_two_run_along_what_they_write() -> None:
    """Every other element is picked from two vectors; along the taps, of which there are three, most lanes would be empty."""
    graph = graph_of(normal(1, 3, 129, 513), normal(32, 3, 3, 3), {"strides": (2, 2)}, True)
    with forced_by(ROWS):
        program = lower_program(compiler.plan(graph, Machine.named("zen5")))
    copies = [node for region in program.regions for node in region.nodes() if isinstance(node, VectorLoops)]
    lanes = {(node.operator.kind, node.vector_axis) for node in copies}
    assert ("unfold", "o1") in lanes
    assert ("unfold", "k1") not in lanes


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
