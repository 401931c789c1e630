"""Trees of loops: which fused groups a chain allows, what a tree moves and needs against the walk, and plans that use one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tests.oracles.movements import schedule_movements, working_set_elements
from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain
from tests.plan.search.test_exact_search import context, machine_with, projected_attention, wide_layers
from tests.plan.walk import walked_movements, walked_working_set
from tilewright.graph.types import Chain
from tilewright.plan.counts import Counted, counting
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.planner import forget_plans, plan_chain
from tilewright.plan.reasons import OtherLoops
from tilewright.plan.regions.live_blocks import live_blocks
from tilewright.plan.regions.loop_views import view_outer_loops, view_schedule
from tilewright.plan.schedule import FusedGroup, Loop, Schedule, fused_schedule, planned_sizes
from tilewright.plan.search import exact_search
from tilewright.plan.space.executability import is_executable, why_not_executable
from tilewright.plan.space.loop_trees import group_choices, possible_fused_groups
from tilewright.plan.space.schedule_space import space_of

LAYERS = wide_layers(8, 4, 9, 6)
"""U0, R, V0 over b; U1, V1 over d."""
ATTENTION = projected_attention(8, 4, 6, 9, 4)
FIRST, SECOND = FusedGroup(("U0", "R", "V0"), ("b",)), FusedGroup(("U1", "V1"), ("d",))
KEYS = FusedGroup(("C", "P", "E"), ("l",))
TREES = [(LAYERS, (FIRST,)), (LAYERS, (SECOND,)), (LAYERS, (FIRST, SECOND)), (ATTENTION, (KEYS,))]
ORDERS = [{}, {"U0": "a", "V0": "c", "U1": "cm", "V1": "e", "C": "k", "E": "nm", "G": "n"}]


def tree(
    chain: Chain, fused_groups: tuple[FusedGroup, ...], outer_loops: str, own: dict[str, str], tiles: dict[str, int]
) -> Schedule:
    below = {op.name: [axis for axis in own.get(op.name, "") if axis not in outer_loops] for op in chain.operators}
    return fused_schedule(chain, outer_loops, below, {**planned_sizes(chain), **tiles}, fused_groups=fused_groups)


def trees(divisible: bool) -> list[tuple[Chain, Schedule]]:
    """Trees with several orders of outer loops, inner loop orders and trip patterns."""
    found = []
    for (chain, fused_groups), outer_loops, own in product(TREES, ("", "m"), ORDERS):
        for several in product((True, False), repeat=3):
            cut = {"m": 4, "a": 2, "c": 2, "e": 2, "n": 3, "k": 2} if divisible else {"m": 3, "a": 3, "c": 3, "e": 3, "n": 4}
            tiles = {axis: tile for axis, tile in cut.items() if several[0] or axis == "m"} if several[1] else {}
            inner = {"b": 3, "d": 2, "l": 3} if divisible else {"b": 4, "d": 4, "l": 4}
            found.append((chain, tree(chain, fused_groups, outer_loops, own, {**tiles, **(inner if several[2] else {})})))
    return found


def test_a_segment_is_all_operators_that_have_an_axis_which_the_last_one_sums() -> None:
    machine = machine_with(l1=2 << 10, l2=8 << 10)
    space = space_of(context(wide_layers(48, 32, 48, 48), machine, columns=16))
    assert possible_fused_groups(space) == (FIRST, FusedGroup(("V0", "U1"), ("c",)), SECOND)
    assert list(group_choices(possible_fused_groups(space))) == [(FIRST, SECOND), (FusedGroup(("V0", "U1"), ("c",)),)]
    attention = space_of(context(projected_attention(48, 64, 32, 48, 32), machine, columns=16))
    assert possible_fused_groups(attention) == (KEYS, FusedGroup(("E", "G"), ("n",)))
    pair = space_of(context(batch_chain(1, 48, 64, 64, 48, with_softmax=True), machine, columns=16))
    assert possible_fused_groups(pair) == ()


def test_a_tree_moves_what_the_walk_moves_and_needs_what_it_needs() -> None:
    for chain, schedule in trees(divisible=True):
        assert is_executable(chain, schedule)
        assert schedule_movements(chain, schedule) == walked_movements(chain, schedule), schedule
        assert working_set_elements(chain, schedule) == walked_working_set(chain, schedule), schedule


def test_ragged_trees_move_what_the_walk_moves_and_need_no_more_than_the_formula_says() -> None:
    for chain, schedule in trees(divisible=False):
        assert schedule_movements(chain, schedule) == walked_movements(chain, schedule), schedule
        assert working_set_elements(chain, schedule) >= walked_working_set(chain, schedule), schedule


@pytest.mark.parametrize(("chain", "fused_groups"), TREES)
def test_the_view_of_a_tree_is_the_view_of_its_prefix_and_segments(chain: Chain, fused_groups: tuple[FusedGroup, ...]) -> None:
    tiles = {**planned_sizes(chain), "m": 3, "b": 4, "d": 2, "l": 4, "e": 2, "n": 4}
    schedule = fused_schedule(chain, "m", {}, tiles, fused_groups=fused_groups)
    here, there = view_outer_loops(chain, "m", tiles, dict(schedule.storage), fused_groups), view_schedule(chain, schedule)
    for one, other in zip(here.operators, there.operators, strict=True):
        assert [(loop.axis, loop.trips) for loop in one.loops] == [(loop.axis, loop.trips) for loop in other.loops]
        assert {axis: int(tile) for axis, tile in one.tiles.items()} == dict(other.tiles)
    assert working_set_bytes(here) == working_set_bytes(there)


def test_an_intermediate_inside_a_segment_is_held_in_its_blocks_and_the_sum_as_a_whole() -> None:
    schedule = tree(LAYERS, (FIRST,), "m", {}, {"m": 3, "b": 4})
    held = {
        tensor: {a: loop.tile if loop else None for a, loop in live_blocks(LAYERS, schedule, tensor)} for tensor in ("R", "V0")
    }
    assert held == {"R": {"m": 3, "b": 4}, "V0": {"m": 3, "c": None}}


def test_a_reader_of_the_sum_inside_the_segment_is_refused() -> None:
    wrong = FusedGroup(("U0", "R", "V0", "U1"), ("b",))
    assert "U1" in why_not_executable(LAYERS, tree(LAYERS, (wrong,), "m", {}, {"m": 3, "b": 4}))


def wide() -> Chain:
    return wide_layers(4096, 128, 4096, 4096)


def loops_of(schedule: Schedule) -> list[str]:
    """The axes of loops directly inside the first one."""
    (outer,) = (node for node in schedule.body if isinstance(node, Loop))
    return [node.axis for node in outer.body if isinstance(node, Loop)]


def test_wide_layers_share_loops_over_their_hidden_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_with(l2=1 << 20)
    plan = plan_chain(wide(), machine, kernels=KERNELS)
    fusion = next(level for level in plan.levels if level.level == "L2")
    assert plan.schedule.path("U0")[1].axis == "b"
    assert plan.schedule.path("U1")[1].axis == "d"
    assert set(loops_of(plan.schedule)) == {"b", "d"}
    assert fusion.used_bytes <= fusion.capacity_bytes
    assert plan.price.seconds < plan.unfused_price.seconds
    monkeypatch.setattr(exact_search, "possible_fused_groups", lambda _: ())
    forget_plans()
    assert plan.price.seconds < 0.98 * plan_chain(wide(), machine, kernels=KERNELS).price.seconds


def test_a_tree_is_recalled_under_other_names() -> None:
    machine = machine_with(l2=1 << 20)
    one = wide()
    renamed = replace(one, operators=tuple(replace(op, name=f"{op.name}_again") for op in one.operators))
    with counting() as counts:
        plan_chain(one, machine, kernels=KERNELS)
        again = plan_chain(renamed, machine, kernels=KERNELS)
    assert counts[Counted.PLANS] == 1
    forget_plans()
    assert again == plan_chain(renamed, machine, kernels=KERNELS)


def test_chains_without_segments_search_no_trees() -> None:
    plan = plan_chain(batch_chain(12, 512, 64, 64, 512, with_softmax=True), CASCADE_LAKE, kernels=KERNELS)
    assert not any(isinstance(one.alternative, OtherLoops) and one.alternative.loops.groups for one in plan.rejected)
