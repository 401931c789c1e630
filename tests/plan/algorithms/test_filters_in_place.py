"""Direct convolution by filters in blocks: the sums of the operator, where it applies, and filters that are not finite."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.plan.algorithms.test_algorithms import check, convolved, names
from tests.support.algorithms import forced, problems
from tilewright.graph.constant_recipe import extreme_constants, recipe
from tilewright.graph.types import Constant, Graph

NAME = "filters in place"


def constant(x: tuple[int, ...], w: tuple[int, ...], **attributes: object) -> Graph:
    """A convolution by constant filters."""
    return convolved(x, w, is_constant=True, **attributes)  # type: ignore[arg-type]


@given(st.data())
def test_any_constant_filters(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))

    def numbers(least: int, most: int, count: int = rank) -> tuple[int, ...]:
        return data.draw(st.tuples(*[st.integers(least, most)] * count))

    group, channels, batch = data.draw(st.integers(1, 2)), data.draw(st.integers(2, 3)), data.draw(st.integers(1, 2))
    filters = data.draw(st.sampled_from((3, 4, 16, 19, 33)))
    attributes = {"strides": numbers(1, 3), "dilations": numbers(1, 2), "pads": numbers(1, 2, 2 * rank), "group": group}
    kernel = numbers(1, 3)
    graph = constant((batch, group * channels, *numbers(3, 6)), (group * filters, channels, *kernel), **attributes)
    assert (NAME in names(graph)) == (filters > 3 and max(kernel) > 1)
    check(graph, only=NAME)


WINDOWS = (1, 3, 8, 8), (8, 3, 3, 3)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (convolved(*WINDOWS), "filters that calls give"),
        (constant(*WINDOWS, dtype="int8"), "bytes"),
        (constant((1, 3, 8, 8), (8, 3, 1, 1)), "no windows"),
        (constant((1, 1, 8, 8), (8, 1, 3, 3)), "one channel"),
        (constant((1, 0, 8, 8), (8, 0, 3, 3)), "no channels"),
        (constant((1, 3, 8, 8), (3, 3, 3, 3)), "less than half a vector"),
        (constant((1, 3, 1, 300), (8, 3, 1, 257)), "too many taps to write down"),
    ],
)
def test_other_products_are_left_to_others(graph: Graph, reason: str) -> None:
    assert NAME not in names(graph), reason


def test_filters_that_are_not_finite_meet_the_zeros_of_the_padding() -> None:
    """Taps that are left out would be NaN."""
    graph = constant(*WINDOWS, pads=(1, 1, 1, 1))
    (problem,) = problems(graph)
    weights = problem.operator.reads[1].tensor
    marked = [replace(tensor, is_extreme=tensor.name == weights) for tensor in graph.tensors]
    assert NAME in names(graph)
    assert NAME not in names(replace(graph, tensors=tuple(marked)))
    assert NAME in names(replace(constant(*WINDOWS), tensors=tuple(marked))), "nothing is left out"


@pytest.mark.parametrize("value", [np.inf, np.nan, 1.0])
@pytest.mark.parametrize("otherwise", [0.0, 0.5], ids=["values known to planning", "values known when loaded"])
def test_loading_finds_filters_that_are_not_finite(value: float, otherwise: float) -> None:
    filters = np.full((24, 3, 3, 3), otherwise, np.float32)
    filters[3, 1, 0, 0] = value
    x = np.ones((1, 3, 7, 7), np.float32)
    with forced(NAME):
        found = tw.jit(lambda x: tw.conv2d(x, filters, padding=1))(x)
    padded = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3))
    with np.errstate(invalid="ignore"):
        wanted = (padded[:, None] * filters[:, :, None, None]).sum(axis=(2, 5, 6))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_kernels_that_compute_calls_again_know_filters_that_are_not_finite() -> None:
    """Winograd reports them in every call; what then computes the call leaves no taps out."""
    random = np.random.default_rng(0)
    x, filters = random.standard_normal((1, 4, 14, 14)).astype("f4"), random.standard_normal((32, 4, 3, 3)).astype("f4")
    filters[3, 1, 0, 0] = np.inf
    with forced("Winograd F(2x2, 3x3)"):
        compiled = tw.jit(lambda x: tw.conv2d(x, filters, padding=1)).lower(x).compile()
    found = compiled(x)
    assert np.isnan(found[0, 3, 0]).all(), "zeros of the padding by infinity"
    assert np.isnan(found[0, 3, :, 0]).all()
    np.testing.assert_array_equal(np.isfinite(found).all(axis=(0, 2, 3)), np.arange(32) != 3)


@pytest.mark.parametrize("image", [(1, 1), (2, 5), (1, 3)])
@pytest.mark.parametrize("stride", [1, 2])
def test_taps_that_no_output_sees_are_not_read(image: tuple[int, int], stride: int) -> None:
    """But looked at when loaded: zeros of the padding by what is not finite are NaN."""
    random = np.random.default_rng(0)
    x, filters = random.standard_normal((1, 4, *image)).astype("f4"), random.standard_normal((40, 4, 3, 3)).astype("f4")
    compiled = tw.jit(lambda x: tw.conv2d(x, filters, padding=1, stride=stride))
    with forced(NAME):
        found, plans = compiled(x), compiled.lower(tw.spec(x.shape)).model_plan.plans
    sums = [operator for plan in plans for operator in plan.chain.operators if len(operator.reduction_axes()) == 3]
    assert [axis.extent for axis in sums[0].reduction_axes()][::2] == [_seen(size, stride) for size in image]
    np.testing.assert_allclose(found, compiled(x, interpret=True), rtol=1e-5, atol=1e-5)
    filters[3, 1, 0, 0] = np.nan
    with forced(NAME):
        assert np.isnan(tw.jit(lambda x: tw.conv2d(x, filters, padding=1, stride=stride))(x)[0, 3]).any()


@pytest.mark.parametrize(("size", "is_offered"), [(5, True), (8, False)])
def test_few_pixels_of_groups(size: int, is_offered: bool) -> None:
    """25 pixels leave lanes of vectors empty, 64 none."""
    random = np.random.default_rng(0)
    x, filters = random.standard_normal((2, 12, size, size)).astype("f4"), random.standard_normal((57, 4, 1, 1)).astype("f4")
    bias = random.standard_normal(57).astype("f4")
    compiled = tw.jit(lambda x: tw.relu(tw.conv2d(x, filters, bias, groups=3)))
    with forced(NAME):
        found, plans = compiled(x), compiled.lower(tw.spec(x.shape)).model_plan.plans
    leaves = {operator.leaf.leaf for plan in plans for operator in plan.operators}
    assert ("filter blocks" in leaves) == is_offered
    np.testing.assert_allclose(found, compiled(x, interpret=True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [23, 60])
def test_rows_of_many_taps(columns: int) -> None:
    """Those that all pixels of a tile see are a loop; others are of some of its pixels."""
    random = np.random.default_rng(0)
    x, filters = random.standard_normal((1, 3, 3, columns)).astype("f4"), random.standard_normal((40, 3, 2, 47)).astype("f4")
    compiled = tw.jit(lambda x: tw.conv2d(x, filters, padding=(1, 23)))
    with forced(NAME):
        found = compiled(x)
    np.testing.assert_allclose(found, compiled(x, interpret=True), rtol=1e-4, atol=1e-4)


def _seen(size: int, stride: int) -> int:
    """Of three taps with padding of one, those that are inside for some output."""
    outputs = (size - 1) // stride + 1
    return len({tap for tap in range(3) for output in range(outputs) if 0 <= output * stride + tap - 1 < size})


@pytest.mark.parametrize(
    ("channels", "image", "kernel", "padding"),
    [
        (5, (7, 7), (3, 3), 1),
        (3, (6, 2), (2, 2), 0),
        (700, (5, 3), (3, 3), 1),
        (4, (3, 5, 4), (3, 2, 3), 1),
        (6, (9, 7), (5, 1), (2, 0)),
    ],
)
def test_short_rows_are_computed_two_at_a_time(
    channels: int, image: tuple[int, ...], kernel: tuple[int, ...], padding: int | tuple[int, ...]
) -> None:
    """An odd row is left, rows of taps outside of one or both, sums of several pieces, three dimensions."""
    random = np.random.default_rng(0)
    x, filters = (random.standard_normal(shape).astype("f4") for shape in ((2, channels, *image), (33, channels, *kernel)))
    convolution = tw.conv3d if len(image) == 3 else tw.conv2d
    compiled = tw.jit(lambda x: convolution(x, filters, padding=padding))
    with forced(NAME):
        np.testing.assert_allclose(compiled(x), compiled(x, interpret=True), rtol=1e-4, atol=1e-4)


def test_recipes_that_check_nothing_find_nothing() -> None:
    weights = Constant(np.full((8, 10), np.nan, np.float32))
    graph = replace(constant(*WINDOWS), constants=())
    assert extreme_constants(recipe(graph, [], [("w", weights)]), [("w", weights)]) == frozenset()


def test_images_whose_pixels_are_one_dimension() -> None:
    """Between products over all pixels, and with an activation behind that finds its sums in their places."""
    random = np.random.default_rng(0)
    shapes = ((32, 1, 1, 16), (32, 3, 3, 32), (16, 1, 1, 32))
    before, windows, behind = (random.standard_normal(shape).astype(np.float32) for shape in shapes)

    def block(x: Any) -> Any:
        y = tw.relu(tw.conv2d(x, before, layout="NHWC", filter_layout="OHWI"))
        z = tw.conv2d(y, windows, stride=2, padding=1, layout="NHWC", filter_layout="OHWI")
        return tw.conv2d(tw.relu(z), behind, layout="NHWC", filter_layout="OHWI")

    x = random.standard_normal((1, 12, 14, 16)).astype(np.float32)
    compiled = tw.jit(block)
    with forced("filters in place"):
        found, plans = compiled(x), compiled.lower(tw.spec(x.shape)).model_plan.plans
    assert "filter blocks" in {operator.leaf.leaf for plan in plans for operator in plan.operators}
    np.testing.assert_allclose(found, compiled(x, interpret=True), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("channels", "filters", "algorithm"), [(32, 32, NAME), (8, 1, "shifted rows")])
def test_phases_of_which_columns_alone_have_taps(channels: int, filters: int, algorithm: str) -> None:
    """Of a transposed convolution by two: the phase of one tap has its pixels as one dimension, and so has that of one row."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((channels, filters, 3, 3)).astype(np.float32)

    def spread(x: Any) -> Any:
        return tw.conv_transpose2d(x, weights, stride=2, padding=1)

    x = random.standard_normal((1, channels, 16, 16)).astype(np.float32)
    compiled = tw.jit(spread)
    with forced(algorithm):
        found, plans = compiled(x), compiled.lower(tw.spec(x.shape)).model_plan.plans
    assert "row-wise reductions" not in {operator.leaf.leaf for plan in plans for operator in plan.operators}
    np.testing.assert_allclose(found, compiled(x, interpret=True), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_next_pixels_are_asked_for_where_channels_lie_apart(layout: str) -> None:
    """Each channel of a tile would ask for every line of all channels, if these lay last."""
    filters = np.ones((32, 16, 3, 3), np.float32).transpose((0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1))
    filter_layout = "OIHW" if layout == "NCHW" else "OHWI"

    def convolution(image: Any) -> Any:
        return tw.conv2d(image, filters, stride=2, padding=1, layout=layout, filter_layout=filter_layout)

    with forced(NAME):
        lowered = tw.jit(convolution, target="x86-64-v3").lower(tw.spec((1, 16, 30, 30) if layout == "NCHW" else (1, 30, 30, 16)))
    assert "filter blocks" in {operator.leaf.leaf for plan in lowered.model_plan.plans for operator in plan.operators}
    assert ("prefetch" in lowered.source) == (layout == "NCHW")
