"""Exact working sets against their definition, against a library of integer sets, and the paper's formulas."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.oracles.formulas import formula
from tests.tune.working_sets import literal
from tests.tune.working_sets.random_nests import random_nest
from tilewright.errors import UnsupportedOperation
from tilewright.graph.expressions.index import axis
from tilewright.graph.types import Access
from tilewright.tune.working_sets.features import (
    boxes_between,
    dependences,
    level_sums,
    nest_features,
    touched_elements,
    working_sets,
)
from tilewright.tune.working_sets.nests import Nest, TileLoop, matrix_product, nest_of


@pytest.mark.parametrize("seed", range(200))
def test_random_nests_are_those_of_the_definition(seed):
    nest = random_nest(seed)
    found = dependences(nest)
    assert found == literal.dependences(nest)
    for one in found:
        for target in (one.first_target, one.last_target):
            assert touched_elements(nest, one.source, target) == literal.touched_elements(nest, one.source, target)


@pytest.mark.parametrize("seed", range(1000, 1200))
def test_random_nests_are_those_of_integer_sets(seed):
    pytest.importorskip("islpy")
    from tests.tune.working_sets import polyhedra

    nest = random_nest(seed)
    found = {(one.array, one.loop, one.source, one.first_target, one.last_target) for one in dependences(nest)}
    wanted = {
        (source.tensor, loop, *points)
        for loop in range(len(nest.loops))
        for source in nest.accesses
        for target in nest.accesses
        if source.tensor == target.tensor and (points := polyhedra.carried(nest, source, target, loop))
    }
    assert found == wanted
    for array, _, source, *targets in sorted(found)[:3]:
        for target in targets:
            assert touched_elements(nest, source, target)[array] == polyhedra.touched(nest, array, source, target)


@pytest.mark.parametrize("seed", range(20))
def test_reuses_do_not_depend_on_how_points_are_numbered(seed, monkeypatch):
    nest = random_nest(seed)
    found = dependences(nest)
    monkeypatch.setattr("tilewright.tune.working_sets.features.LARGEST_TABLE", 0)
    assert dependences(nest) == found


def test_long_sums_need_no_table_of_all_pairs():
    loops = (TileLoop("k", 1000), TileLoop("i", 6), TileLoop("k", 1), TileLoop("i", 1), TileLoop("j", 1))
    assert nest_features(matrix_product(24, 16, 60000, loops), {"A": 4, "B": 4, "C": 4}, [1 << 15])[0] > 0


def test_figure_2():
    def size(at, which):
        def of(extents):
            sets = working_sets(matrix_product(extents["M"], extents["N"], extents["K"]))
            return sum(getattr(sets[at], which).values())

        return formula(of, ("M", "N", "K"))

    assert [(size(at, "least"), size(at, "most")) for at in range(3)] == [
        ("2*K + 3", "N*K + N + 1"),
        ("N*K + N + K + 2", "M*N + M*K + N*K - N - K + 2"),
        ("5", "2*K + 1"),
    ]


def test_boxes_cover_every_iteration_once():
    counts = (2, 3, 2)
    points = [(x, y, z) for x in range(2) for y in range(3) for z in range(2)]
    for i, first in enumerate(points):
        for j in range(i, len(points)):
            boxes = list(boxes_between(counts, first, points[j]))
            held = [p for p in points for box in boxes if all(a <= x <= b for x, (a, b) in zip(p, box, strict=True))]
            assert held == points[i : j + 1]


def test_every_size_goes_to_the_fastest_level_that_holds_it():
    assert level_sums([32, 33, 1000, 1001], [32, 1000]) == (32, 1033, 1001)


def test_larger_blocks_move_reuses_to_memory_behind():
    fits, spills = (
        matrix_product(64, 64, 64, (TileLoop("i", t), TileLoop("k", t), *(TileLoop(a, 1) for a in "ikj"))) for t in (4, 32)
    )
    sizes = dict.fromkeys("ABC", 4)
    assert nest_features(fits, sizes, [8192])[0] > nest_features(spills, sizes, [8192])[0]


def test_operators_of_graphs_have_nests():
    graph = tw.jit(lambda x, y: x @ y).lower(tw.spec((6, 5)), tw.spec((5, 4))).model_plan.graph
    (operator,) = graph.operators
    nest = nest_of(graph, operator, (TileLoop(operator.axes[0].name, 2),))
    assert len(nest.loops) == 4
    assert {one.array for one in dependences(nest)} == {access.tensor for access in nest.accesses}


def test_axes_in_two_dimensions_are_refused():
    i = axis("i")
    with pytest.raises(UnsupportedOperation, match=r"working sets of A\[i, i\]") as refused:
        Nest({"i": 4}, (TileLoop("i", 1),), (Access("A", (i, i)),), {"A": (4, 4)})
    assert "no axis may be in two of them" in str(refused.value)


@pytest.mark.parametrize("tiles", [(), (4,), (2, 4, 1)])
def test_loops_that_do_not_shrink_to_single_values_are_refused(tiles):
    with pytest.raises(ValueError, match="must shrink to 1"):
        Nest({"i": 4}, tuple(TileLoop("i", tile) for tile in tiles), (), {})
