"""Products of a single column: which axes go, what stays, and that results are those of the product as it is written."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.compiler import rewrite
from tilewright.graph.builders.builder import Builder
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.scalar import AxisValue, Load, apply
from tilewright.graph.rewrites.index_changes.axes import SingleColumns
from tilewright.graph.types import Extent, Graph, SymbolicExtent
from tilewright.graph.verifier import verify


def product(subscripts: str, *shapes: tuple[Extent, ...]) -> Graph:
    """One einsum."""
    builder = Builder("f")
    left, right = (builder.input(name, shape, "float32") for name, shape in zip("xy", shapes, strict=True))
    return builder.graph((builder.einsum(subscripts, left, right).name,))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "axes"),
    [
        ("mk,kn->mn", ((5, 3), (3, 1)), "mk"),
        ("bmk,bkn->bmn", ((2, 5, 3), (2, 3, 1)), "bmk"),
        ("mk,kno->mno", ((5, 3), (3, 1, 1)), "mk"),  # every trailing dimension of one element
        ("mk,kn->mn", ((1, 3), (3, 1)), "mk"),  # the last axis of a result stays
        ("mk,kn->mn", ((5, 3), (3, 2)), "mnk"),
        ("mk,kn->mn", ((1, 3), (3, 5)), "mnk"),  # a single row: lanes run along columns already
        ("mk,kn->mn", ((5, 1), (1, 7)), "mnk"),  # a depth of 1 is no column
        ("mk,kn->mn", ((5, 3), (3, SymbolicExtent("n", 1, 64, 8))), "mnk"),  # may be 1 at run time, and may be more
    ],
)
def test_a_last_axis_of_one_point_goes(subscripts: str, shapes: tuple[tuple[Extent, ...], ...], axes: str) -> None:
    graph = product(subscripts, *shapes)
    changed = SingleColumns().run(graph)
    verify(changed, graph)
    names = {axis.name for axis in changed.operators[0].axes}
    assert len(names) == len(axes)
    assert [tensor.shape for tensor in changed.tensors] == [tensor.shape for tensor in graph.tensors]


def test_maps_of_such_results_follow_and_others_stay() -> None:
    builder = Builder("f")
    a, x, y = builder.input("a", (5, 3), "float32"), builder.input("x", (3, 1), "float32"), builder.input("y", (5, 1), "float32")
    shifted = builder.map("add", builder.matmul(a, x), y)
    apart = builder.map("negative", y)
    changed = SingleColumns().run(builder.graph((builder.map("exp", shifted).name, apart.name)))
    lengths = {operator.write.tensor: len(operator.write.axes()) for operator in changed.operators}
    assert lengths.pop(apart.name) == 2
    assert set(lengths.values()) == {1}


def test_a_map_that_computes_with_the_position_stays() -> None:
    builder = Builder("f")
    a, x = builder.input("a", (5, 3), "float32"), builder.input("x", (3, 1), "float32")
    product = builder.matmul(a, x)
    graph = builder.graph((builder.body(apply("add", Load(0), AxisValue("d1")), product).name,))
    changed = SingleColumns().run(graph)
    verify(changed, graph)
    assert [len(operator.write.axes()) for operator in changed.operators] == [1, 2]


@pytest.mark.parametrize("shapes", [((37, 19), (19, 1)), ((3, 37, 19), (3, 19, 1)), ((1, 19), (19, 1)), ((37, 1), (1, 1))])
def test_results_are_those_of_the_product_as_written(shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(3)
    left, right = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    function = tw.jit(lambda a, x: np.maximum(a @ x, 0.25) + 1.0)
    wanted = np.maximum(left.astype(float) @ right.astype(float), 0.25) + 1.0
    np.testing.assert_allclose(function(left, right), wanted, rtol=1e-5, atol=1e-5)
    backwards = function(left[..., ::-1], right[..., ::-1, :])
    np.testing.assert_allclose(backwards, wanted, rtol=1e-5, atol=1e-5)


def test_lanes_run_along_the_depth_of_rows_side_by_side() -> None:
    graph = rewrite(product("mk,kn->mn", (64, 32), (32, 1)))
    roles = contraction_roles(graph.operators[0])
    assert (roles.right, roles.row, graph.operators[0].axis(str(roles.column)).extent) == (0, None, 64)
