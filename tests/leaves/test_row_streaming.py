"""Row streaming gives the sums of the interpreter, and of PyTorch: any windows, special values, no other memory."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.codegen.test_convolutions import at_end
from tests.support.algorithms import computed_by, forced
from tests.support.guarded import in_child
from tilewright import compiler
from tilewright.backends.backend import Runnable
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.leaves.registry import bindings
from tilewright.machine import Machine

Floats = np.ndarray[Any, Any]
EPS = float(np.finfo(np.float32).eps)


def depthwise(x: tuple[int, ...], filters: int, kernel: tuple[int, ...], maps: bool = True, **attributes: Any) -> Graph:
    """A depthwise convolution by sliding sums, with a bias, a relu and a shortcut behind."""
    builder = Builder("depthwise")
    channels = x[1]
    image, weights = builder.input("x", x, "float32"), builder.input("w", (channels * filters, 1, *kernel), "float32")
    window = window_of(x[2:], kernel, where="Conv", **attributes)
    y = builder.record(convolution, image, weights, window, channels, kind="conv")
    if maps:
        bias, shortcut = (
            builder.input("b", (channels * filters, *[1] * len(kernel)), "float32"),
            builder.input("s", y.shape, "float32"),
        )
        y = builder.map("add", builder.map("relu", builder.map("add", y, bias)), shortcut)
    graph = computed_by(builder.graph((y.name,)), "sliding sums")
    graph = compiler._simplified(graph, frozenset((*graph.inputs, *graph.outputs)))
    assert "row streaming" in [binding.leaf for binding in bindings(graph.operators, graph.tensors, Machine.detect()).values()]
    return graph


def operands(graph: Graph, seed: int = 0) -> dict[str, Floats]:
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}


def compiled(graph: Graph, values: dict[str, Floats]) -> Floats:
    """The output, with every input at the end of its memory."""
    return result(built(graph), values)


def built(graph: Graph) -> Runnable:
    executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=1)
    assert "tw_step" in executable.origin.artifact.source
    return executable


def result(executable: Runnable, values: dict[str, Floats]) -> Floats:
    inputs = [values[slot.name] for slot in executable.signature.inputs]
    outputs = executable.new_outputs(inputs)
    executable.run([at_end(value) for value in inputs], outputs)
    return outputs[0]


def check(graph: Graph, values: dict[str, Floats], torch_result: Floats | None = None) -> None:
    (wanted,) = evaluate(graph, {name: value.astype(np.float64) for name, value in values.items()}).values()
    found = compiled(graph, values)
    taps = values["w"][0].size
    bound = (taps + 4) * EPS * (1 + np.abs(values["x"]).max() * np.abs(values["w"]).max() * taps)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)
    if torch_result is not None:
        np.testing.assert_allclose(found, torch_result, rtol=0, atol=2 * bound)


def check_in_child(graph: Graph, values: dict[str, Floats], attributes: dict[str, Any]) -> None:
    """PyTorch computes here: its threads do not live in a forked child."""
    in_child(check, graph, values, by_torch(values, **attributes) if values["x"].ndim == 4 else None)


def by_torch(
    values: dict[str, Floats],
    strides: tuple[int, ...] = (1, 1),
    dilations: tuple[int, ...] = (1, 1),
    pads: tuple[int, ...] = (0, 0, 0, 0),
) -> Floats:
    tensors = {name: torch.from_numpy(value) for name, value in values.items()}
    top, left, bottom, right = pads
    x = torch.nn.functional.pad(tensors["x"], (left, right, top, bottom))
    y = torch.nn.functional.conv2d(x, tensors["w"], None, strides, 0, dilations, x.shape[1])
    y = torch.relu(y + tensors["b"]) + tensors["s"] if "b" in tensors else y
    return y.numpy()


CASES: dict[str, tuple[tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((2, 3, 19, 56), 1, (3, 3), {"pads": (1, 1, 1, 1)}),
    "5x5, several": ((1, 3, 14, 30), 2, (5, 5), {"pads": (2, 2, 2, 2)}),
    "7x7": ((1, 2, 16, 37), 1, (7, 7), {"pads": (3, 3, 3, 3)}),
    "even": ((1, 2, 9, 20), 1, (2, 4), {"pads": (0, 1, 1, 2)}),
    "no padding": ((1, 2, 9, 20), 1, (3, 3), {}),
    "by two": ((1, 3, 13, 67), 1, (3, 3), {"pads": (1, 1, 1, 1), "strides": (2, 2)}),
    "by two, below and right": ((1, 3, 28, 28), 1, (5, 5), {"pads": (1, 1, 2, 2), "strides": (2, 2)}),
    "by two, no padding": ((1, 2, 9, 33), 1, (3, 4), {"strides": (2, 2)}),
    "by two, two vectors": ((1, 3, 28, 28), 1, (5, 5), {"pads": (2, 2, 2, 2), "strides": (2, 2)}),
    "by two, all of two vectors": ((1, 3, 9, 31), 1, (2, 4), {"pads": (0, 1, 0, 0), "strides": (2, 2)}),
    "rows by three": ((1, 2, 17, 20), 1, (5, 3), {"pads": (2, 1, 2, 1), "strides": (3, 1)}),
    "dilated": ((1, 2, 17, 23), 1, (3, 3), {"pads": (2, 4, 2, 4), "dilations": (2, 4)}),
    "dilated, by two": ((1, 2, 17, 40), 1, (3, 3), {"pads": (3, 1, 3, 1), "dilations": (3, 1), "strides": (2, 2)}),
    "smaller than the window": ((1, 2, 2, 3), 1, (7, 7), {"pads": (3, 3, 3, 3)}),
    "short rows": ((2, 7, 9, 7), 1, (5, 5), {"pads": (2, 2, 2, 2)}),
    "short rows, several": ((1, 3, 8, 4), 2, (3, 3), {"pads": (1, 1, 1, 1)}),
    "short rows, dilated": ((1, 4, 9, 8), 1, (3, 3), {"pads": (2, 3, 2, 3), "dilations": (2, 3)}),
    "short rows, no padding": ((1, 4, 9, 10), 1, (3, 3), {}),
    "short rows by two": ((2, 5, 14, 14), 1, (5, 5), {"pads": (1, 1, 2, 2), "strides": (2, 2)}),
    "a pixel": ((1, 5, 1, 1), 1, (3, 3), {"pads": (1, 1, 1, 1)}),
    "a window": ((1, 5, 3, 5), 1, (3, 5), {}),
    "wide": ((1, 2, 4, 700), 1, (3, 3), {"pads": (1, 1, 1, 1)}),
    "wide, several columns before": ((1, 1, 5, 390), 32, (1, 41), {"pads": (0, 20, 0, 20)}),
    "wide, taps": ((1, 1, 9, 430), 32, (5, 5), {"pads": (2, 2, 2, 2)}),
    "wide, no padding": ((1, 1, 12, 410), 32, (5, 5), {}),
    "wide, nine rows": ((1, 1, 11, 300), 32, (9, 3), {"pads": (4, 1, 4, 1)}),
    "wide by two": ((1, 1, 9, 1201), 32, (3, 3), {"pads": (1, 1, 1, 1), "strides": (2, 2)}),
    "wide by two, even columns": ((1, 1, 9, 1200), 32, (5, 5), {"pads": (2, 2, 2, 2), "strides": (2, 2)}),
    "wide by two, no padding": ((1, 1, 9, 1203), 32, (3, 4), {"strides": (1, 2)}),
    "wide, dilated": ((1, 1, 9, 600), 32, (3, 3), {"pads": (2, 40, 2, 3), "dilations": (2, 30)}),
    "one dimension": ((1, 3, 40), 1, (5,), {"pads": (2, 2)}),
}


ALONE = ("3x3", "by two", "short rows", "wide, taps", "wide by two", "one dimension")
"""How rows of results are stored depends on their length, and on what is side by side."""
REPEATED = (
    *("5x5, several", "no padding", "by two, no padding", "by two, two vectors", "short rows, several", "short rows, no padding"),
    *("a window", "wide", "wide, no padding", "wide by two, even columns", "wide by two, no padding"),
)
"""What other cases show as well: `rest`."""


def marks(name: str, maps: bool) -> list[pytest.MarkDecorator]:
    if not maps and name not in ALONE:
        return [pytest.mark.sweep]
    return [pytest.mark.rest] if name in REPEATED else []


@pytest.mark.parametrize(
    ("name", "maps"),
    [
        pytest.param(name, maps, marks=marks(name, maps), id=f"{way}-{name}")
        for way, maps in (("maps behind", True), ("alone", False))
        for name in CASES
    ],
)
def test_sums(name: str, maps: bool) -> None:
    x, filters, kernel, attributes = CASES[name]
    graph = depthwise(x, filters, kernel, maps, **attributes)
    check_in_child(graph, operands(graph), attributes)


@pytest.mark.parametrize(("columns", "is_prefetched"), [(40, False), (700, True)])
def test_results_whose_rows_are_stored_in_pieces_are_prefetched(columns: int, is_prefetched: bool) -> None:
    graph = depthwise((1, 2, 30, columns), 1, (3, 3), False, pads=(1, 1, 1, 1))
    source = compiler.build(compiler.plan(graph, Machine.named("cascadelake-6240")), threads=1).origin.artifact.source
    assert ("__builtin_prefetch(tw_" in source) == is_prefetched


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_blocks_inside_of_the_image_ask_for_no_border(strides: tuple[int, int]) -> None:
    """Of many blocks of columns only the outer ones see what the image lacks."""
    graph = depthwise((1, 1, 12, 1000 * strides[1]), 32, (3, 3), False, pads=(1, 1, 1, 1), strides=strides)
    source = compiler.build(compiler.plan(graph, Machine.named("cascadelake-6240")), threads=1).origin.artifact.source
    found = re.search(r"^( *)for \(long tw_column = .*?^\1\}", source, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert "= *(const float32x16_u *)(tw_" in found[0]
    assert "%{z%}" not in found[0]


@settings(max_examples=3, deadline=None)
@given(st.data())
def test_any_wide_windows(data: st.DataObject) -> None:
    """Columns in more blocks than are written out."""
    kernel = data.draw(st.integers(2, 3)), data.draw(st.integers(2, 7))
    pads = data.draw(st.tuples(*[st.integers(0, 9)] * 4))
    strides = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    dilations = 1, data.draw(st.integers(1, 3 - strides[1]))
    size = data.draw(st.integers(5, 9)), data.draw(st.integers(540, 700)) * strides[1]
    attributes = {"strides": strides, "dilations": dilations, "pads": pads}
    graph = depthwise((1, 1, *size), 32, kernel, data.draw(st.booleans()), **attributes)
    check_in_child(graph, operands(graph, sum(size)), attributes)


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_any_windows(data: st.DataObject) -> None:
    def pair(least: int, most: int) -> tuple[int, int]:
        return data.draw(st.tuples(st.integers(least, most), st.integers(least, most)))

    kernel = pair(2, 5)
    pads = data.draw(st.tuples(*[st.integers(0, 6)] * 4))
    strides = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    dilations = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3 - strides[1]))
    least = [max(1, (k - 1) * d + 1 - pads[i] - pads[i + 2]) for i, (k, d) in enumerate(zip(kernel, dilations, strict=True))]
    size = data.draw(st.tuples(*(st.integers(low, low + 40) for low in least)))
    batch, channels, filters = (data.draw(st.integers(1, most)) for most in (2, 3, 2))
    attributes = {"strides": strides, "dilations": dilations, "pads": pads}
    graph = depthwise((batch, channels, *size), filters, kernel, data.draw(st.booleans()), **attributes)
    check_in_child(graph, operands(graph, sum(size)), attributes)


@pytest.mark.parametrize(
    ("pads", "strides", "dilations"),
    [
        ((1, 1, 1, 1), (1, 1), (1, 1)),
        ((1, 1, 1, 1), (2, 2), (1, 1)),
        ((1, 1, 1, 1), (2, 1), (2, 1)),
        ((1, 1, 1, 1), (1, 1), (2, 3)),
        ((0, 0, 0, 0), (2, 2), (1, 1)),
        ((0, 0, 0, 0), (1, 1), (2, 3)),
        ((2, 1, 0, 3), (1, 1), (1, 1)),
        ((2, 1, 0, 3), (2, 1), (2, 1)),
    ],
)
def test_images_whose_pixels_are_one_dimension(
    pads: tuple[int, int, int, int], strides: tuple[int, int], dilations: tuple[int, int]
) -> None:
    """Between products over all pixels, a sliding sum reads and writes rows and columns in one dimension."""
    random = np.random.default_rng(5)
    wide, weights, narrow = (
        random.standard_normal(shape).astype(np.float32) for shape in ((24, 8, 1, 1), (24, 1, 3, 3), (8, 24, 1, 1))
    )
    top, left, bottom, right = pads

    def separable(x: Any) -> Any:
        around = tw.relu(tw.conv2d(x, wide))
        padding = ((top, bottom), (left, right))
        moved = tw.conv2d(around, weights, stride=strides, dilation=dilations, padding=padding, groups=24)
        return tw.conv2d(tw.relu(moved), narrow)

    x = random.standard_normal((1, 8, 24, 28)).astype(np.float32)
    compiled_twice = [tw.jit(separable, threads=threads) for threads in (1, 2)]
    with forced("sliding sums"):
        first, second = (function(x) for function in compiled_twice)
    if strides != (2, 2):  # channels lie last by price there
        assert any("tw_step" in kernel.source for kernel in compiled_twice[0].kernels)
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(first, compiled_twice[0](x, interpret=True), rtol=1e-4, atol=1e-3)


SPECIAL = {"infinity": np.inf, "not a number": np.nan}


@pytest.mark.parametrize("name", ["3x3", "by two", "dilated", "smaller than the window"])
def test_special_values_reach_what_they_reach_by_the_interpreter(name: str) -> None:
    """Padding is 0, and its products with weights count: those of weights that are not finite are not."""
    x, filters, kernel, attributes = CASES[name]
    graph = depthwise(x, filters, kernel, **attributes)
    executable = built(graph)
    for value, where in product(SPECIAL, ("x", "w")):
        values = operands(graph)
        values[where].flat[:: max(values[where].size // 3, 1)] = SPECIAL[value]
        with np.errstate(invalid="ignore"):
            (wanted,) = evaluate(graph, values).values()
        found = result(executable, values)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted), err_msg=f"{value} in {where}")
        np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted), err_msg=f"{value} in {where}")


def test_long_rows_of_taps_do_not_stream() -> None:
    """Compilers would take minutes."""
    with pytest.raises(AssertionError):
        depthwise((1, 2, 300), 1, (100,))


def test_products_are_taken_in_the_order_of_the_taps() -> None:
    """2^24 + 1 - 2^24 is 0 in this order, 1 in the order of columns."""
    graph = depthwise((1, 1, 1, 16), 1, (1, 3), maps=False, pads=(0, 1, 0, 1))
    values = {"x": np.ones((1, 1, 1, 16), np.float32), "w": np.array([2.0**24, 1.0, -(2.0**24)], np.float32).reshape(1, 1, 1, 3)}
    assert compiled(graph, values)[0, 0, 0, 5] == 0.0


@pytest.mark.parametrize("attributes", [{"strides": (1, 3)}, {"strides": (1, 2), "dilations": (1, 3)}], ids=str)
def test_columns_far_apart_do_not_stream(attributes: dict[str, Any]) -> None:
    """Lanes are told apart by even and odd columns only, of inputs whose neighbours an axis walks."""
    with pytest.raises(AssertionError):
        depthwise((1, 2, 9, 20), 1, (3, 3), **attributes)


def test_arguments_may_have_the_names_of_variables_in_the_generated_text() -> None:
    """A pointer that is called as a variable in the loops around it would read itself."""
    x, w = np.ones((1, 6, 9, 9), np.float32), np.ones((6, 1, 5, 5), np.float32)

    def convolve(image: Any, row: Any, step: Any, column: Any) -> Any:
        return tw.conv2d(image, w, padding=2, groups=6) + row + step + column

    kernel = tw.jit(convolve, threads=1).lower(x, x, x, x).compile()
    assert "tw_step" in kernel.source
    assert kernel(x, x, x, x)[0, 0, 4, 4] == 28
