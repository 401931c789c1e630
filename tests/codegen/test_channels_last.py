"""Algorithms of images whose channels lie last, compiled: the interpreter's results, for any windows, at the end of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.test_convolutions import EPS, Floats, built, normal
from tests.support.algorithms import forced
from tests.support.guarded import in_child
from tilewright import compiler
from tilewright.block.leaf_binding import Window as SlidingWindow
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import Layouts, convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.leaves.channel_lanes_form import ChannelLanes
from tilewright.machine import Machine

LAST = (0, 3, 1, 2)
"""Where batch, channels, height and width of NHWC are among NCHW."""
CHANNEL_LANES, PIXEL_ROWS = "channel lanes", "pixel rows"
Window = dict[str, tuple[int, ...]]


def laid_out(x: tuple[int, ...], w: Floats, groups: int, window: Window, *, result: tuple[int, ...] = LAST) -> Graph:
    """A convolution of NHWC by constant filters, with a bias and a relu behind."""
    builder = Builder("channels_last")
    batch, channels, height, width = x
    image, weights = builder.input("x", (batch, height, width, channels), "float32"), builder.constant(w)
    known = window_of(x[2:], w.shape[2:], where="Conv", **window)
    y = builder.record(convolution, image, weights, known, groups, Layouts(LAST, (0, 1, 2, 3), result), kind="conv")
    bias = builder.constant(normal(w.shape[0]))
    y = builder.map("relu", builder.map("add", y, bias) if result == LAST else y)
    return builder.graph((y.name,))


def check(graph: Graph, algorithm: str, images: list[Floats], bound: float) -> None:
    """The sums of the algorithm, compiled, are those of the operator as it is written."""
    with forced(algorithm):
        plans = compiler.plan(graph, Machine.detect()).plans
        compute = built(graph)
    leaves = {part.leaf.leaf for plan in plans for part in plan.operators if part.leaf is not None}
    assert (CHANNEL_LANES in leaves) == (algorithm == CHANNEL_LANES)
    for x in images:
        with np.errstate(invalid="ignore"):
            (wanted,) = evaluate(graph, {"x": x.astype(np.float64)}).values()
        found = compute([x])
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~finite], wanted[~finite].astype(np.float32))
        assert np.all(np.abs(found - wanted)[finite] <= bound)


def checked(
    shape: tuple[int, ...], w: Floats, groups: int, window: Window, algorithm: str, *images: Floats, **layouts: Any
) -> None:
    """Of images that have the same finite numbers, but for a few."""
    finite = np.abs(images[0][np.isfinite(images[0])]).max(initial=1.0)
    bound = (w[0].size + 4) * EPS * (4 + w[0].size * float(np.abs(w).max() * finite))
    in_child(check, laid_out(shape, w, groups, window, **layouts), algorithm, [*images], bound)


CASES: dict[str, tuple[tuple[int, ...], tuple[int, int], Window]] = {
    "3x3": ((2, 32, 7, 14), (3, 3), {"pads": (1, 1, 1, 1)}),
    "a lane more": ((1, 17, 9, 20), (3, 3), {"pads": (1, 1, 1, 1)}),
    "few channels": ((1, 3, 9, 17), (5, 5), {"pads": (2, 2, 2, 2)}),
    "by two": ((1, 20, 13, 15), (3, 3), {"pads": (1, 1, 1, 1), "strides": (2, 2)}),
    "by two, below and right": ((1, 16, 28, 12), (5, 5), {"pads": (1, 1, 2, 2), "strides": (2, 2)}),
    "no padding": ((1, 16, 9, 10), (3, 3), {}),
    "dilated": ((1, 19, 17, 23), (3, 3), {"pads": (2, 4, 2, 4), "dilations": (2, 4)}),
    "rows alone": ((1, 16, 11, 8), (3, 1), {"pads": (1, 0, 1, 0)}),
    "smaller than the window": ((1, 18, 2, 3), (7, 7), {"pads": (3, 3, 3, 3)}),
    "rests of blocks": ((1, 16, 3, 19), (3, 3), {"pads": (1, 1, 1, 1)}),
    "many taps in a row": ((1, 16, 2, 13), (1, 13), {"pads": (0, 6, 0, 6)}),
    "one pixel": ((1, 40, 1, 1), (3, 3), {"pads": (1, 1, 1, 1)}),
}


@pytest.mark.parametrize("name", CASES)
def test_channel_sums(name: str) -> None:
    (batch, channels, *size), kernel, window = CASES[name]
    x = normal(batch, *size, channels)
    special = x.copy()
    places = np.random.default_rng(len(name)).choice(x.size, min(x.size, 5), replace=False)
    special.flat[places] = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)[: places.size]
    checked((batch, channels, *size), normal(channels, 1, *kernel), channels, window, CHANNEL_LANES, x, special)


@pytest.mark.parametrize(
    ("name", "filters", "result"),
    [
        pytest.param(name, filters, result, marks=[] if (number + several + first) % 2 else pytest.mark.sweep)
        for number, name in enumerate(CASES)
        for several, filters in enumerate((5, 70))
        for first, result in enumerate((LAST, (0, 1, 2, 3)))
    ],
)
def test_pixel_rows(name: str, filters: int, result: tuple[int, ...]) -> None:
    (batch, channels, *size), kernel, window = CASES[name]
    x, w = normal(batch, *size, channels), normal(filters, channels, *kernel)
    checked((batch, channels, *size), w, 1, window, PIXEL_ROWS, x, result=result)


@pytest.mark.parametrize(
    ("name", "per_group"),
    [
        *(("3x3", per_group) for per_group in ((2, 3), (17, 16), (8, 40))),
        *(("by two", (17, 16)), ("dilated", (2, 3)), ("no padding", (8, 40)), ("one pixel", (17, 16))),
    ],
    ids=str,
)
def test_pixel_rows_of_groups(name: str, per_group: tuple[int, int]) -> None:
    """Three groups, of so many channels and filters each."""
    (batch, _, *size), kernel, window = CASES[name]
    channels, filters = (3 * number for number in per_group)
    x, w = normal(batch, *size, channels), normal(filters, per_group[0], *kernel)
    checked((batch, channels, *size), w, 3, window, PIXEL_ROWS, x)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_windows(data: st.DataObject) -> None:
    batch, filters, channels = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 20)), data.draw(st.integers(2, 40))
    size = data.draw(st.tuples(st.integers(1, 20), st.integers(1, 20)))
    kernel = data.draw(st.tuples(st.integers(1, 5), st.integers(2, 5)))
    pair = st.tuples(st.integers(1, 2), st.integers(1, 3))
    reach = 2 * max(kernel)
    window = {
        "strides": data.draw(pair),
        "dilations": data.draw(pair),
        "pads": data.draw(st.tuples(*[st.integers(reach, reach + 2)] * 4)),
    }
    x = normal(batch, *size, channels)
    if data.draw(st.booleans()):
        checked((batch, channels, *size), normal(channels, 1, *kernel), channels, window, CHANNEL_LANES, x)
    else:
        checked((batch, channels, *size), normal(filters, channels, *kernel), 1, window, PIXEL_ROWS, x)


def test_columns_in_tiles_with_rests() -> None:
    """Rows that caches hold in parts alone: with 256 KiB of them tiles of five columns, the last of four."""
    checked((1, 480, 14, 14), normal(480, 1, 5, 5), 480, {"pads": (2, 2, 2, 2)}, CHANNEL_LANES, normal(1, 14, 14, 480))


@pytest.mark.parametrize(("taps", "lanes", "most"), [(3, 8, 8), (9, 8, 6), (9, 16, 8), (13, 8, 2), (40, 8, 1)])
def test_sums_side_by_side_leave_registers_for_the_weights_of_a_row(taps: int, lanes: int, most: int) -> None:
    form = ChannelLanes(None, SlidingWindow("w", "s", taps, 1, 1), 0.0, "c")
    assert form.block(None, lanes) == most
    assert form.block(14, lanes) == -(-14 // -(-14 // most))


def test_taps_of_the_guard_take_part() -> None:
    """Padding is zeros: infinite filters give NaN where a window stands out, in rows and in columns."""
    w = normal(16, 1, 3, 3)
    w[:, :, 0, 0] = np.inf
    checked((1, 16, 5, 9), w, 16, {"pads": (1, 1, 1, 1)}, CHANNEL_LANES, np.abs(normal(1, 5, 9, 16)) + 1)
