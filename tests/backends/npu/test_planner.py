"""Plans for the simulated NPU: the least price of all tiles, buffers that fit, refusals, executable schedules."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.support.npu_chains import Case, chain_of, counted, figures, fits, npu, planned, run_both, work_of
from tilewright.backends.npu_simulator.figures import SPACES, figures_of
from tilewright.backends.npu_simulator.lowering import tiles_of
from tilewright.backends.npu_simulator.planner import (
    DEPTHS,
    SIDES,
    NpuPlanner,
    apart,
    candidates,
    intensity_of,
    plan_chain,
    square_blocks,
)
from tilewright.backends.npu_simulator.price import predicted
from tilewright.backends.npu_simulator.shape import shape_of
from tilewright.backends.npu_simulator.tiles import Order, Tiles, filled
from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.reasons import Unplannable
from tilewright.plan.space.executability import why_not_executable

CASES = (
    Case(0, 100, 40, 90, 48),
    Case(2, 64, 16, 33, 17, "softmax"),
    Case(0, 48, 32, 64, 0, "", "bias"),
    Case(0, 33, 16, 40, 0, "", "softmax"),
)


def least_seconds(chain: Chain, order: Order) -> float:
    """Of every tile that is tried, one by one."""
    shape = shape_of(chain)
    e = work_of(chain, Tiles(order, 16)).extents

    def sides(sizes: tuple[int, ...], extent: object) -> list[int]:
        most = int(filled(extent))  # type: ignore[call-overload]
        return sorted({min(size, most) for size in (*sizes, most)})

    is_chain, is_tile = len(shape.stages) == 2, order is Order.TILE
    found = float("inf")
    for rows, columns, depth, second, steps, kept, middle, outer in product(
        sides(SIDES, e.rows),
        sides(SIDES, e.columns),
        sides(DEPTHS, e.depth),
        sides(SIDES, e.second) if is_chain else [16],
        sides(DEPTHS, e.columns) if is_chain else [16],
        [0] if is_tile else [0, 1],
        [1] if is_tile else [1, 2],
        [1, 2],
    ):
        tiles = Tiles(order, rows, columns, depth, second, steps, kept, middle=middle, outer=outer)
        if fits(chain, tiles) and not (order is Order.STREAM and steps > columns):
            found = min(found, float(predicted(work_of(chain, tiles), figures()).seconds))
    return found


@pytest.mark.parametrize("case", [Case(0, 17, 16, 20, 20), CASES[2], CASES[3]])
def test_the_chosen_tiles_have_the_least_price_of_all(case: Case) -> None:
    chain = chain_of(case)
    for one in candidates(chain, figures()):
        assert one.seconds == pytest.approx(least_seconds(chain, one.tiles.order), rel=1e-9)
    plan = plan_chain(chain, npu())
    assert plan.price.on(32) == plan.price.seconds == pytest.approx(candidates(chain, figures())[0].seconds)


@pytest.mark.parametrize("case", CASES)
def test_schedules_are_executable_and_prices_near_the_timeline(case: Case) -> None:
    chain = chain_of(case)
    for one in candidates(chain, figures()):
        plan = planned(chain, one.tiles)
        assert not why_not_executable(chain, plan.schedule)
        counts = counted(plan)
        assert counts.predicted_seconds == pytest.approx(plan.price.seconds, rel=0.1)
        assert sum(size for *_, size in counts.moved) == sum(movement.size_bytes for movement in plan.movements)


@pytest.mark.parametrize("space", SPACES)
def test_every_space_becomes_the_one_that_binds(space: str) -> None:
    """Spaces shrink until the plan changes, and until there is none."""
    chain = chain_of(Case(0, 128, 64, 128, 64))
    used = {level.level: level.used_bytes for level in plan_chain(chain, npu()).levels}
    less = plan_chain(chain, npu(**{space: used[space] - 1}))
    assert {level.level: level.used_bytes for level in less.levels}[space] < used[space]
    assert run_both(less).error < 1e-3
    with pytest.raises(Unplannable, match="no kernel of this device") as caught:
        plan_chain(chain, npu(**{space: 512}))
    assert "do not fit the buffers" in caught.value.why


def test_rows_that_fit_no_unified_buffer_have_no_plan() -> None:
    with pytest.raises(Unplannable, match="no kernel"):
        plan_chain(chain_of(Case(0, 16, 16, 8192, 16, "softmax")), npu())
    builder = Builder("f")
    alone = graph_chain(builder, builder.softmax(builder.input("x", (9, 9000), "float16"), -1).name)
    plan = plan_chain(alone, npu())
    assert tiles_of(plan).rows < 16
    assert run_both(plan).error < 1e-3


def test_m1_is_n1_from_l0c() -> None:
    """Section V-B of the paper: arithmetic intensity is highest where both are as many."""
    assert [square_blocks(figures(), count) for count in (1, 2, 4)] == [16, 8, 8]
    assert intensity_of(128, 128) == 64 > intensity_of(256, 64)
    large = tiles_of(plan_chain(chain_of(Case(0, 4096, 1024, 4096)), npu()))
    assert int(large.rows) * int(large.columns) * 4 * int(large.outer) <= figures().size("L0C")


def graph_chain(builder: Builder, *names: str) -> Chain:
    graph = builder.graph(names)
    operators = tuple(replace(operator, accumulator="float32") for operator in graph.operators)
    return make_chain(graph, operators)


def test_refusals_say_what_the_device_lacks() -> None:
    builder = Builder("f")
    product_of_floats = builder.matmul(builder.input("x", (8, 8), "float32"), builder.input("y", (8, 8), "float32"))
    with pytest.raises(Unplannable, match="multiplies float32") as caught:
        plan_chain(graph_chain(builder, product_of_floats.name), npu())
    assert "astype('float16')" in caught.value.hint
    builder = Builder("f")
    x, y = builder.input("x", (8, 8), "float16"), builder.input("y", (8, 8), "float16")
    transposed = builder.matmul(y, builder.transpose(builder.matmul(x, y), (1, 0)))
    with pytest.raises(Unplannable, match="no kernel"):
        plan_chain(graph_chain(builder, transposed.name), npu())
    builder = Builder("f")
    doubled = builder.matmul(
        builder.map("add", builder.input("x", (8, 8), "float16"), 1.0), builder.input("y", (8, 8), "float16")
    )
    with pytest.raises(Unplannable, match="no kernel") as caught:
        plan_chain(graph_chain(builder, doubled.name), npu())
    assert "comes before a product" in caught.value.why


def test_other_machines_are_refused() -> None:
    for name in ("zen4", "a100"):
        with pytest.raises(UnsupportedOperation, match="cannot be simulated"):
            figures_of(Machine.named(name))


def test_vector_chains() -> None:
    """Without a product: rows along one axis, columns along another; operands of fewer dimensions; a row as a whole."""
    for name in ("add", "softmax", "sum"):
        builder = Builder("f")
        x = builder.input("x", (3, 50, 70), "float16")
        found = builder.map("add", builder.map("exp", x), builder.input("bias", (70,), "float32"))
        found = builder.softmax(found, -1) if name == "softmax" else builder.reduce("sum", found, [2]) if name == "sum" else found
        chain = graph_chain(builder, found.name)
        plan = NpuPlanner().plan(chain, npu())
        outcome = run_both(plan)
        np.testing.assert_array_equal(outcome.simulated, outcome.interpreted)
        assert outcome.error < 1e-3
        assert {(t, way): size for t, way, size in outcome.counts.moved}["x", "memory>UB"] == 3 * 50 * 70 * 2


def test_a_chain_apart_is_a_kernel_for_every_product() -> None:
    chain = chain_of(Case(0, 100, 40, 90, 48, "relu"))
    parts = apart(chain)
    assert [len(part.operators) for part in parts] == [2, 1]
    moved = [counted(plan_chain(part, npu())).ways["UB>memory"] for part in parts]
    assert moved[0] == 100 * 90 * 2
