"""Traffic of nested loops against the literal walk, two and three levels, and blocks that are cut for L1."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain, gemm_chain, kernel
from tests.plan.search.test_exact_search import STRICT, machine_with
from tests.plan.walk import walked_movements
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.memory.traffic import bytes_into, chain_figures, footprints
from tilewright.plan.planner import plan_chain
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.schedule import Compute, Loop, Schedule, fused_schedule, nest
from tilewright.plan.space.executability import is_executable
from tilewright.plan.types import Plan

CHAIN = gemm_chain(16, 8, 8, 16)
OWN = {"C": ("k",), "E": ("n",)}
OUTER = {"m": 8, "l": 8, "k": 4, "n": 4}
INNER = {"m": 4, "l": 4, "k": 2, "n": 2}


def context(machine: Machine, chain: Chain = CHAIN, rows: int = 2, columns: int = 2) -> CostContext:
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    kernels = {operator.name: kernel(rows, columns) for operator in contractions}
    return context_of(chain, machine, kernels, {op.name: contraction_roles(op) for op in contractions}, STRICT)


def nested(outer_loops: str, inner_orders: dict[str, tuple[str, ...]], tiles: dict[str, int] = INNER) -> Schedule:
    """The prefixed schedule with loops over smaller tiles around every leaf."""

    def wrap(node):
        if isinstance(node, Compute):
            return nest([(axis, tiles[axis]) for axis in inner_orders[node.operator]], (node,))
        return (replace(node, body=tuple(one for inner in node.body for one in wrap(inner))),)

    outer = fused_schedule(CHAIN, outer_loops, OWN, OUTER)
    return replace(outer, body=tuple(one for node in outer.body for one in wrap(node)))


def moved(case: CostContext, outer: Schedule, inner: Schedule | None = None) -> dict[str, dict[str, int]]:
    """Elements of inputs and outputs into every level, by the formulas."""
    view = view_schedule(case.chain, outer)
    around = chain_figures(case, view)
    inside = view_schedule(case.chain, inner).operators if inner else (None,) * len(view.operators)
    totals: dict[str, dict[str, int]] = {}
    for one, cut in zip(view.operators, inside, strict=True):
        block = footprints(case, one.operator, one.tiles)
        inner_block = (cut, footprints(case, one.operator, cut.tiles)) if cut else None
        for level, sizes in bytes_into(case, around, one, block, inner=inner_block).items():
            for operand, size_bytes in zip(case.operands[one.operator.name], sizes, strict=True):
                if not operand.is_intermediate:
                    here = totals.setdefault(level, {})
                    here[operand.access.tensor] = here.get(operand.access.tensor, 0) + int(size_bytes) // operand.element_bytes
    return totals


@pytest.mark.parametrize("outer_loops", ["", "m", "l", "ml", "lm"])
def test_two_levels_move_what_the_walk_of_each_nest_moves(outer_loops: str) -> None:
    case = context(machine_with(l1=32 << 10))
    for first, second in zip(permutations("mkl"), permutations("nlm"), strict=True):
        outer, inner = fused_schedule(CHAIN, outer_loops, OWN, OUTER), nested(outer_loops, {"C": first, "E": second})
        assert is_executable(CHAIN, inner)
        levels = moved(case, outer, inner)
        assert levels["L1"] == walked_movements(CHAIN, inner)
        assert levels["L2"] == walked_movements(CHAIN, outer)


def test_a_block_that_does_not_fit_moves_what_the_kernels_own_loops_move() -> None:
    """Column panels outside, rows inside: as if both were loops of the schedule."""
    outer = fused_schedule(CHAIN, "m", OWN, OUTER)
    loops = {"C": ("l", "m"), "E": ("n", "m")}
    panel_fits = context(machine_with(l1=4 * 14 * 2))
    assert 4 * 4 * 2 <= panel_fits.nearest_bytes < 4 * (8 * 4 + 4 * 2)
    assert moved(panel_fits, outer)["L1"]["A"] == walked_movements(CHAIN, nested("m", loops, {"m": 2, "l": 2, "n": 2}))["A"]
    assert moved(panel_fits, outer)["L1"]["B"] == walked_movements(CHAIN, nested("m", loops, {"m": 2, "l": 2, "n": 2}))["B"]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_cache_behind_moves_what_the_walk_of_the_blocks_that_it_holds_moves(depth: int) -> None:
    outer = fused_schedule(CHAIN, "ml", OWN, OUTER)
    held = fused_schedule(CHAIN, "ml"[:depth], {}, OUTER)
    elements = {0: 16 * 8 + 8 * 16 + 16 * 8 + 16 * 8, 1: 8 * 8 + 8 * 16 + 16 * 8 + 8 * 8, 2: 8 * 8 * 4}
    one_core = machine_with(l3=4 * elements[depth])
    levels = tuple(replace(level, shared_by_cores=1) for level in one_core.levels)
    case = context(replace(one_core, levels=levels))
    assert moved(case, outer)["L3"] == walked_movements(CHAIN, held)


def test_threads_share_what_they_all_read_and_divide_the_rest() -> None:
    """A cache that all cores share holds the whole chain's tensors if these fit it; of a block it holds a core's share.

    One of two blocks has half of it; all of it if there is one block, here because nothing is distributed along l.
    """
    whole = 4 * (16 * 8 + 8 * 16 + 16 * 8 + 16 * 8)
    fits, almost, nothing = (context(machine_with(l3=size)) for size in (whole, whole - 4, 4))
    two_blocks, one_block = fused_schedule(CHAIN, "ml", OWN, OUTER), fused_schedule(CHAIN, "lm", OWN, OUTER)
    for outer in (two_blocks, one_block):
        assert moved(fits, outer)["L3"]["E"] == 16 * 8
    assert moved(almost, two_blocks)["L3"] == moved(nothing, two_blocks)["L3"]
    assert moved(almost, one_block)["L3"] == walked_movements(CHAIN, fused_schedule(CHAIN, "l", {}, OUTER))
    assert moved(almost, one_block)["L3"] != moved(nothing, one_block)["L3"]


def slow_l2(share: float) -> Machine:
    levels = tuple(
        replace(level, bandwidth_bytes_per_s=level.bandwidth_bytes_per_s * share) if level.name == "L2" else level
        for level in CASCADE_LAKE.levels
    )
    return replace(CASCADE_LAKE, levels=levels)


def inner_loops(plan: Plan) -> list[Loop]:
    found = []
    for operator in plan.chain.operators:
        path = plan.schedule.path(operator.name)
        found += [loop for i, loop in enumerate(path) if any(loop.axis == before.axis for before in path[:i])]
    return found


def test_blocks_are_cut_for_l1_where_l2_is_slow_and_not_where_it_is_fast() -> None:
    chain = batch_chain(12, 512, 64, 64, 512, with_softmax=True)
    slow, fast = (plan_chain(chain, slow_l2(share), kernels=KERNELS) for share in (0.15, 1.0))
    assert inner_loops(fast) == []
    assert inner_loops(slow) or len(slow.schedule.path("E")) > len(fast.schedule.path("E"))
    assert is_executable(chain, slow.schedule)
    into_l1 = {name: sum(m.size_bytes for m in plan.movements if m.level == "L1") for name, plan in (("s", slow), ("f", fast))}
    assert into_l1["s"] < into_l1["f"]
