"""Vector loops of maps that transpose: squares of registers end where blocks end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.plan.cases import CASCADE_LAKE
from tilewright.block.leaf_binding import LeafBinding
from tilewright.coefficients import coefficients_for
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Access, Axis, Chain, Guard, Operator, Tensor
from tilewright.leaves.elementwise_maps import strided_seconds
from tilewright.leaves.transposed_maps import WINDOW_CYCLES, turning_seconds, window_seconds
from tilewright.plan.model.cost import measure
from tilewright.plan.model.cost_context import CostContext, context_of

SIZES = {"y": 5, "x": 40, "c": 64}
LANES = 16
AXES = tuple(Axis(name, extent) for name, extent in SIZES.items())
PLANES = Access("planes", (axis("c"), axis("y"), axis("x")))
PIXELS = Access("pixels", (axis("y"), axis("x"), axis("c")))


def context(read: Access) -> CostContext:
    """Of a map that puts the channels of an image side by side."""
    copy = Operator("copy", "copy", AXES, (read,), PIXELS, Load(0))
    chain = Chain("copy", (Tensor("planes", (64, 5, 40)), Tensor("pixels", (5, 40, 64))), (copy,))
    return context_of(chain, CASCADE_LAKE, {}, {}, coefficients_for(CASCADE_LAKE))


def squares(read: Access, **tiles: int) -> float:
    """The squares that a block structure turns, by the price of one."""
    of = context(read)
    (operator,) = of.chain.operators
    square_s = of.coefficients.tile_transpose_cycles / CASCADE_LAKE.frequency_hz
    binding = of.leaves[operator.name]
    return float(turning_seconds(binding, of.cost_problem(operator, SIZES | tiles))) / square_s if binding.axes else 0.0


def literal(x: int, c: int) -> int:
    """All squares, one by one."""
    found = 0
    for x_begin in range(0, SIZES["x"], x):
        for c_begin in range(0, SIZES["c"], c):
            width, depth = min(x, SIZES["x"] - x_begin), min(c, SIZES["c"] - c_begin)
            found += len(range(0, width, LANES)) * len(range(0, depth, LANES))
    return SIZES["y"] * found


@pytest.mark.parametrize("x", [8, 16, 17, 40])
@pytest.mark.parametrize("c", [4, 16, 30, 64])
def test_squares_are_those_of_a_walk_over_all_blocks(x: int, c: int) -> None:
    assert squares(PLANES, x=x, c=c) == pytest.approx(literal(x, c))


@pytest.mark.parametrize("x", [1, 7])
@pytest.mark.parametrize("c", [4, 64])
def test_blocks_of_few_rows_are_stored_one_by_one(x: int, c: int) -> None:
    """Along the rows a vector is loaded for every column, and its elements lie apart in the result."""
    coefficients = context(PLANES).coefficients
    vectors = SIZES["y"] * SIZES["c"] * -(-SIZES["x"] // x)
    cycles = vectors * coefficients.transpose_cycles_per_vector
    assert squares(PLANES, x=x, c=c) == pytest.approx(cycles / coefficients.tile_transpose_cycles)


def test_blocks_of_other_axes_cost_nothing() -> None:
    assert squares(PLANES, y=1) == squares(PLANES)


def test_guards_and_borders_change_nothing() -> None:
    inside = Guard((axis("x") - 1,), 0.0)
    shifted = Access("planes", (axis("c"), axis("y"), axis("x") - 1), inside)
    assert squares(shifted) == squares(PLANES) == literal(40, 64)


def test_rows_may_be_digits_of_a_dimension_of_pixels() -> None:
    """With height and width as one dimension, one line of the image is turned at a time as well."""
    of_pixels = Access("planes", (axis("c"), axis("y") * 40 + axis("x")))
    assert squares(of_pixels) == squares(PLANES)
    assert squares(of_pixels, x=1) == squares(PLANES, x=1)


def test_what_lies_alike_is_not_transposed() -> None:
    assert squares(replace(PIXELS, tensor="planes")) == 0
    assert squares(Access("planes", (constant(0), constant(0), axis("x")))) == 0, "every channel has the same"
    assert squares(Access("planes", (axis("c"), axis("y"), axis("x") * 2))) == 0, "no two columns lie side by side"
    assert squares(Access("planes", (axis("c"), constant(0), axis("x") + axis("y")))) == 0, "a window lies along two axes"


def test_tiles_may_be_arrays() -> None:
    of = context(PLANES)
    (operator,) = of.chain.operators
    tiles = np.array([1, 7, 40])
    found = measure(of, operator, SIZES | {"x": tiles}).functions_s
    assert np.asarray(found).tolist() == [float(measure(of, operator, SIZES | {"x": int(tile)}).functions_s) for tile in tiles]


@pytest.mark.parametrize(("step", "cycles"), [(1, 0.0), (2, 5.0), (-2, 5.0), (3, 2.0 * LANES), (0, 0.0)])
def test_elements_with_gaps_are_taken_apart(step: int, cycles: float) -> None:
    """Every other element by a permutation a vector, wider gaps one by one; what lies side by side costs no more."""
    of = context(Access("planes", (axis("y"), axis("x"), axis("c") * step + 200)))
    (operator,) = of.chain.operators
    vectors = SIZES["y"] * SIZES["x"] * SIZES["c"] / LANES
    assert strided_seconds(of.cost_problem(operator, SIZES)) == pytest.approx(vectors * cycles / CASCADE_LAKE.frequency_hz)


def test_gaps_along_other_axes_cost_nothing() -> None:
    of = context(Access("planes", (axis("y"), axis("x") * 2, axis("c"))))
    assert strided_seconds(of.cost_problem(of.chain.operators[0], SIZES)) == 0


def test_taps_that_lie_side_by_side_are_turned_or_stored_one_by_one() -> None:
    """Patches of 16 columns."""
    of = context(Access("planes", (axis("y"), axis("x"), axis("c") * 16 + axis("x"))))
    operator, problem = of.chain.operators[0], of.cost_problem(of.chain.operators[0], SIZES)
    binding = LeafBinding("transposed maps", (("columns", "c"), ("rows", "x")))
    points = SIZES["y"] * SIZES["x"] * SIZES["c"]
    assert operator.write.innermost() == "c"
    assert strided_seconds(problem, ("x",)) == 0
    assert window_seconds(binding, problem) == pytest.approx(points * WINDOW_CYCLES / CASCADE_LAKE.frequency_hz)


def test_lines_of_rows_on_pages_of_their_own_show_misses() -> None:
    """Of as many squares, results of 6400 channels a pixel, and of 64."""
    of = context(PLANES)
    (operator,) = of.chain.operators
    times = []
    for sizes in ({"y": 40, "x": 480, "c": 64}, {"y": 4, "x": 48, "c": 6400}):
        problem = replace(of.cost_problem(operator, SIZES), sizes=sizes, tiles=sizes)
        times.append(float(turning_seconds(of.leaves[operator.name], problem)) * CASCADE_LAKE.frequency_hz)
    lines = 40 * 480 * 64 * 4 / CASCADE_LAKE.levels[0].line_bytes
    assert times[1] - times[0] == pytest.approx(lines * of.coefficients.scattered_line_cycles)
