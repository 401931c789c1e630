"""Live intermediate state and working sets against the walk."""

from __future__ import annotations

from itertools import permutations, product
from math import prod

import pytest

from tests.oracles.movements import permutation_movements, working_set_elements
from tests.plan.cases import batch_chain, chain_of, contraction, elementwise, gemm_chain
from tests.plan.walk import walked_live, walked_working_set
from tilewright.graph.types import Chain, SymbolicExtent
from tilewright.plan.model.memory.working_set import held_sizes
from tilewright.plan.permutations import permuted
from tilewright.plan.regions.live_blocks import buffer_blocks, in_place_groups, live_blocks
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.schedule import Schedule, Storage, fused_schedule, planned_sizes
from tilewright.plan.space.executability import is_executable

ORDERS = ["".join(order) for order in permutations("mnkl")]
EXTENTS = {"m": 8, "n": 6, "k": 6, "l": 9}
SMALL = {"m": 4, "n": 2, "k": 3, "l": 3}
PATTERNS = list(product((True, False), repeat=4))


def live_elements(chain: Chain, schedule: Schedule, tensor: str) -> int:
    """How many elements of an intermediate are alive at once, at planned sizes."""
    sizes, blocks = planned_sizes(chain), live_blocks(chain, schedule, tensor)
    return prod(sizes[axis] if loop is None else min(loop.tile, sizes[axis]) for axis, loop in blocks)


def chain():
    return gemm_chain(*(EXTENTS[axis] for axis in "mnkl"))


def tiles_of(pattern: tuple[bool, ...]) -> dict[str, int]:
    return {x: EXTENTS[x] if whole else SMALL[x] for x, whole in zip("mnkl", pattern, strict=True)}


@pytest.mark.parametrize(
    ("order", "held"),
    [
        ("mlkn", {"m", "l"}),
        ("lmnk", {"m", "l"}),
        ("mnlk", {"m"}),
        ("mkln", {"m"}),
        ("lkmn", {"l"}),
        ("nmlk", set()),
        ("kmln", set()),
    ],
)
def test_what_is_held_by_a_block_follows_from_the_order(order: str, held: set[str]) -> None:
    blocks = live_blocks(chain(), permuted(chain(), order, SMALL), "C")
    assert [axis for axis, _ in blocks] == ["m", "l"]
    assert {axis for axis, loop in blocks if loop is not None} == held


def test_a_loop_with_one_trip_is_no_barrier() -> None:
    blocks = dict(live_blocks(chain(), permuted(chain(), "nkml", {**SMALL, "n": 6, "k": 8}), "C"))
    assert blocks["m"] is not None
    assert blocks["l"] is not None


def test_recomputation_takes_the_barrier_away_from_the_consumers_loops() -> None:
    kept, recomputed = (permuted(chain(), "nmlk", SMALL, storage=s) for s in (Storage.KEEP, Storage.RECOMPUTE))
    assert live_elements(chain(), kept, "C") == 8 * 9
    assert live_elements(chain(), recomputed, "C") == 4 * 3


def test_a_loop_over_a_symbolic_axis_is_taken_to_have_several_trips() -> None:
    symbolic = batch_chain(2, SymbolicExtent("s", 1, 100, 8), 6, 6, 9, with_softmax=False)
    assert dict(live_blocks(symbolic, permuted(symbolic, "m", {"m": 8}), "C"))["m"] is not None


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("storage", [Storage.KEEP, Storage.RECOMPUTE])
def test_live_state_and_working_set_are_those_of_the_walk(order: str, storage: Storage) -> None:
    for pattern in PATTERNS:
        schedule = permuted(chain(), order, tiles_of(pattern), storage=storage)
        if is_executable(chain(), schedule):
            assert live_elements(chain(), schedule, "C") == max(walked_live(chain(), schedule, ("C",))), pattern
            assert working_set_elements(chain(), schedule) == walked_working_set(chain(), schedule), pattern


def test_ragged_edges_never_need_more_than_the_formula_says() -> None:
    ragged = gemm_chain(7, 5, 4, 8)
    for order in ORDERS:
        schedule = permuted(ragged, order, {"m": 3, "n": 2, "k": 3, "l": 3})
        assert working_set_elements(ragged, schedule) >= walked_working_set(ragged, schedule)
        assert live_elements(ragged, schedule, "C") == max(walked_live(ragged, schedule, ("C",)))


@pytest.mark.parametrize("outer_loops", ["", "m", "l", "ml", "lm", "mn", "nml", "mnl"])
def test_prefixed_schedules_need_what_the_walk_needs(outer_loops: str) -> None:
    for pattern in PATTERNS:
        own = {"C": [x for x in "mlk" if x not in outer_loops], "E": [x for x in "mnl" if x not in outer_loops]}
        schedule = fused_schedule(chain(), outer_loops, own, tiles_of(pattern))
        assert live_elements(chain(), schedule, "C") == max(walked_live(chain(), schedule, ("C",)))
        assert working_set_elements(chain(), schedule) == walked_working_set(chain(), schedule)


def attention():
    return batch_chain(2, 8, 6, 4, 9, with_softmax=True)


ONLINE = ["l", "ml", "lm", "bml", "blm", "lbm", "nml", "mnl", "bnlm"]


@pytest.mark.parametrize("outer_loops", ONLINE)
def test_online_schedules_need_what_the_walk_needs(outer_loops: str) -> None:
    for several in product((True, False), repeat=3):
        tiles = {x: EXTENTS[x] if whole else SMALL[x] for x, whole in zip("mnk", several, strict=True)} | {"b": 1, "l": 3}
        own = {"C": [x for x in "mlk" if x not in outer_loops], "E": [x for x in "mnl" if x not in outer_loops]}
        schedule = fused_schedule(attention(), outer_loops, own, tiles)
        assert is_executable(attention(), schedule)
        assert working_set_elements(attention(), schedule) == walked_working_set(attention(), schedule), tiles


def test_online_rows_in_the_papers_orders_need_what_the_walk_needs() -> None:
    online = 0
    for order in permutations("mnkl"):
        schedule = permuted(attention(), order, {**SMALL, "k": 2})
        if is_executable(attention(), schedule):
            online += 1
            assert working_set_elements(attention(), schedule) >= walked_working_set(attention(), schedule), order
    assert online == 12


def test_ragged_online_rows_never_need_more_than_the_formula_says() -> None:
    ragged = batch_chain(2, 7, 5, 4, 8, with_softmax=True)
    for outer_loops in ONLINE:
        schedule = fused_schedule(ragged, outer_loops, {}, {"b": 1, "m": 3, "n": 2, "l": 3})
        assert working_set_elements(ragged, schedule) >= walked_working_set(ragged, schedule), outer_loops


def longer_chain():
    extents = {"m": 6, "k": 4, "l": 6, "n": 4, "p": 4}
    return chain_of(
        (
            contraction("C", "mk,kl->ml", "AB", extents),
            elementwise("R", "ml", [("C", "ml"), ("bias", "l")], extents),
            contraction("E", "ml,ln->mn", "RD", extents),
            contraction("G", "mn,np->mp", "EF", extents),
        )
    )


@pytest.mark.parametrize("storage", [Storage.KEEP, Storage.RECOMPUTE])
def test_four_operators_in_one_nest_never_need_more_than_the_formula_says(storage: Storage) -> None:
    long = longer_chain()
    for order in permutations("mklnp"):
        schedule = permuted(long, order, {"m": 3, "k": 2, "l": 2, "n": 2, "p": 2}, storage=storage)
        if not is_executable(long, schedule):
            continue
        assert working_set_elements(long, schedule) >= walked_working_set(long, schedule), order
        for tensor in long.intermediates:
            assert live_elements(long, schedule, tensor) == max(walked_live(long, schedule, (tensor,))), (order, tensor)


def test_maps_and_row_operators_share_the_buffer_that_they_overwrite() -> None:
    assert in_place_groups(longer_chain()) == (("C", "R"), ("E",))
    attention = batch_chain(2, 8, 6, 4, 9, with_softmax=True)
    assert in_place_groups(attention) == (("C", "P"),)
    whole_rows = fused_schedule(attention, "bm", {"E": "n"}, {"b": 1, "m": 4, "n": 2})
    held = dict(buffer_blocks(attention, whole_rows, "C"))
    assert (held["b"].tile, held["m"].tile, held["l"]) == (1, 4, None)


def test_a_buffer_is_as_large_as_its_most_demanding_member() -> None:
    schedule = permuted(longer_chain(), "mnlkp", {"m": 3, "k": 4, "l": 2, "n": 2, "p": 4})
    assert dict(live_blocks(longer_chain(), schedule, "C"))["l"] is not None
    assert dict(live_blocks(longer_chain(), schedule, "R"))["l"] is None
    assert dict(buffer_blocks(longer_chain(), schedule, "C"))["l"] is None


def test_both_forms_of_the_holding_rule_agree() -> None:
    for order in ORDERS:
        schedule = permuted(chain(), order, SMALL)
        held = held_sizes(view_schedule(chain(), schedule), "C")
        blocks = live_blocks(chain(), schedule, "C")
        assert held == {axis: loop.tile if loop else EXTENTS[axis] for axis, loop in blocks}


def test_a_stationary_output_is_cheaper_than_the_papers_order_on_g1() -> None:
    g1, capacity = gemm_chain(512, 64, 64, 512), 48 * 1024 // 4
    tiles = {"m": 64, "n": 64, "k": 64, "l": 16}
    moved = sum(permutation_movements(g1, "mlkn", tiles).values())
    assert working_set_elements(g1, permuted(g1, "mlkn", tiles)) <= capacity
    assert moved == 589824 < 786432
