"""Reshapes that merge dimensions of intermediates divide no more, and what walks two dimensions as one has one axis for them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from tests.support.algorithms import computed_by
from tests.support.onnx_operators import operator
from tilewright.compiler import SIMPLIFICATIONS, rewrite
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.index import axis, floordiv, mod
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.flatten_tensors import FlattenTensors, without_digits
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify
from tilewright.plan.algorithms.winograd.tiles import F2


def convolved(builder: Builder, x: Tensor, filters: int, kernel: int) -> Tensor:
    w = builder.constant(np.random.default_rng(0).standard_normal((filters, x.shape[1], kernel, kernel)).astype("f4"))
    return operator("Conv", 21, pads=(kernel // 2,) * 4).lower(builder, x, w)


def residual() -> Graph:
    """A block of 1x1, 3x3 and 1x1 convolutions whose input is added."""
    builder = Builder("residual")
    x = builder.map("relu", convolved(builder, builder.input("x", (1, 3, 6, 7), "float32"), 16, 3))
    y = builder.map("relu", convolved(builder, x, 8, 1))
    y = convolved(builder, builder.map("relu", convolved(builder, y, 8, 3)), 16, 1)
    pooled = builder.reduce("mean", builder.map("relu", builder.map("add", x, y)), (2, 3), keepdims=True)
    return builder.graph((pooled.name,))


def test_pixels_are_walked_in_a_row():
    graph = rewrite(in_rows(residual()))
    indices = [index for one in graph.operators for access in (*one.reads, one.write) for index in access.indices]
    assert all(index.is_affine() for index in indices)
    sum_of_both = next(one for one in graph.operators if len(one.reads) >= 2 and one.is_map())
    assert [axis.extent for axis in sum_of_both.axes] == [1, 16, 42]
    assert not any(one.kind == "reshape" for one in graph.operators)


def test_the_meaning_stays():
    graph = residual()
    x = {"x": np.random.default_rng(1).standard_normal((1, 3, 6, 7)).astype("f4")}
    (name,) = graph.outputs
    exact, changed = (evaluate(one, x, dtype="float64")[name] for one in (graph, rewrite(in_rows(graph))))
    np.testing.assert_allclose(changed, exact, rtol=1e-12)


def test_a_copy_of_an_argument_is_walked_row_by_row():
    builder = Builder("copy")
    y = builder.reshape(builder.input("x", (4, 5, 6), "float32"), (4, 30))
    (copy,) = rewrite(builder.graph((y.name,))).operators
    assert all(index.is_affine() for access in (*copy.reads, copy.write) for index in access.indices)


def test_products_that_one_chain_may_hold_keep_the_tiles_between_them():
    """Both transforms of Winograd's sums walk rows of tiles, whose pixels the second alone puts into rows of the image."""
    graph = rewrite(computed_by(residual(), "pointwise", F2.name), SIMPLIFICATIONS, marks=False)
    assert any("p" in one.axis_names for one in graph.operators if one.is_contraction()), "pixels are one dimension elsewhere"
    products = [one for one in graph.operators if one.is_product_sum() and {"ty", "a"} <= one.axis_names]
    last = [one for one in products if "b" in one.axis_names]
    joined = [one for one in products if any(len(index.axes()) > 1 for index in one.write.indices)]
    assert joined == last
    assert 2 * len(last) == len(products)


def in_rows(graph: Graph) -> Graph:
    """The graph with its convolutions as products over pixels in a row."""
    return computed_by(graph, "pointwise", "shifted rows")


def blocks(count: int) -> Graph:
    """As many 3x3 convolutions one after the other."""
    builder = Builder("blocks")
    x = builder.input("x", (1, 4, 6, 5), "float32")
    for _ in range(count):
        x = builder.map("relu", convolved(builder, x, 4, 3))
    return builder.graph((x.name,))


def calls(function: Callable[[], object]) -> int:
    """How many Python functions it calls."""
    found = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal found
        found += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def test_the_work_grows_with_the_graph():
    flatten_tensors = FlattenTensors()
    graphs = [FoldIndexMaps().run(in_rows(blocks(count))) for count in (4, 8, 16)]
    assert flatten_tensors.run(graphs[0]) != graphs[0]
    first, second, third = (calls(lambda graph=graph: flatten_tensors.run(graph)) for graph in graphs)
    assert 0 < third - second < 2.02 * (second - first)


def assert_same_meaning(graph: Graph) -> None:
    """The graph and what rewriting makes of it give the same in float64."""
    generator = np.random.default_rng(1)
    inputs = {name: generator.standard_normal(graph.tensor(name).shape) for name in graph.inputs}
    exact, changed = (evaluate(one, inputs, dtype="float64") for one in (graph, rewrite(in_rows(graph))))
    for name in graph.outputs:
        np.testing.assert_allclose(changed[name], exact[name], rtol=1e-12)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_dimensions_that_are_looked_into_stay_apart(place):
    """A merged index is arithmetic on both indices; what a lookup adds to one of them has no factor."""
    builder = Builder("looked up")
    whole = builder.map("negative", builder.input("x", (2, 3, 4, 5), "float32"))
    outer, inner = builder.reshape(whole, (6, 4, 5)), builder.reshape(whole, (2, 3, 20))
    taken = builder.record(gather, whole, builder.constant(np.array([1, 0, 0])), place, kind="gather")
    assert_same_meaning(builder.graph((outer.name, inner.name, taken.name)))


def test_lookups_go_with_their_dimensions_when_others_become_one():
    builder = Builder("looked up")
    whole = builder.map("negative", builder.input("x", (2, 3, 4, 5), "float32"))
    merged = builder.reshape(whole, (6, 4, 5))
    taken = builder.record(gather, whole, builder.constant(np.array([4, 1])), 3, kind="gather")
    graph = builder.graph((merged.name, taken.name))
    assert_same_meaning(graph)
    (looking,) = (one for one in rewrite(graph).operators if one.looked_up())
    assert [access.lookups for access in looking.reads if access.lookups] == [((2, 0),)]


def test_what_a_map_makes_along_merged_dimensions_stays_apart_where_it_is_looked_into():
    """Nobody reshapes the map's own result: the map walks the pixels of its operand in a row."""
    builder = Builder("looked up")
    pixels = builder.reshape(builder.map("abs", builder.input("x", (2, 6, 4), "float32")), (2, 3, 8))
    scaled = builder.map("multiply", pixels, builder.constant(np.arange(1.0, 25.0, dtype="f4").reshape(3, 8)))
    taken = builder.record(gather, scaled, builder.constant(np.array([[2, 0], [-3, 1]])), 1, kind="gather")
    assert_same_meaning(builder.graph((taken.name,)))


def test_quotients_with_constants_are_put_together():
    index = axis("p") * -1 + 23
    assert without_digits(floordiv(index, 4) * 4 + mod(index, 4)) == index


def test_constants_of_another_shape_get_a_name_that_no_tensor_has():
    builder = Builder("names")
    matrix, other = (builder.constant(np.arange(6.0).reshape(shape), name) for shape, name in (((2, 3), "w"), ((6,), "w_6")))
    sums = builder.map("add", builder.input("x", (6,), "float64"), builder.reshape(matrix, (6,)))
    graph = builder.graph((builder.map("multiply", sums, other).name,))
    after = FlattenTensors().run(graph)
    verify(after)
    assert [tensor.shape for tensor in after.tensors if tensor.name in dict(after.constants)] == [(6,), (6,)]
    assert_same_meaning(graph)
