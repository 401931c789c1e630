"""Buffers that lie in one place are never alive together: against the walk of every block."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.plan.cases import batch_operators, chain_of, contraction, elementwise
from tests.plan.walk import walked_places
from tilewright.graph.types import Chain, Extent, SymbolicExtent
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.permutations import permuted
from tilewright.plan.regions.live_ranges import is_lasting, shared_buffers
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.schedule import FusedGroup, Schedule, Storage, fused_schedule
from tilewright.plan.space.executability import is_executable

EXTENTS: dict[str, Extent] = {"m": 6, "a": 3, "b": 4, "c": 5, "d": 2, "e": 3}
TILES = {"m": 2, "a": 2, "b": 2, "c": 3, "d": 1, "e": 2}
TURNS = [[("P",), ("S", "U")], [("Q", "R")]]


def layers(m: Extent = 6) -> Chain:
    """x A B C D: four layers, with maps behind the second and the third, of which that one also reads what came before."""
    extents = {**EXTENTS, "m": m}
    return chain_of(
        [
            contraction("P", "ma,ab->mb", "xA", extents),
            contraction("Q", "mb,bc->mc", "PB", extents),
            elementwise("R", "mc", [("Q", "mc"), ("bias", "c")], extents),
            contraction("S", "mc,cd->md", "RC", extents),
            elementwise("U", "md", [("S", "md"), ("y", "md")], extents),
            contraction("T", "md,de->me", "UD", extents),
        ]
    )


def found(chain: Chain, schedule: Schedule) -> list[list[tuple[str, ...]]]:
    return [list(groups) for groups in shared_buffers(view_schedule(chain, schedule))]


def test_layers_take_two_places_in_turns() -> None:
    chain = layers()
    schedule = fused_schedule(chain, "m", {}, TILES)
    assert found(chain, schedule) == TURNS == walked_places(chain, schedule)
    assert int(live_bytes(view_schedule(chain, schedule)) // 4) == 2 * max(4, 2) + 2 * 5


@pytest.mark.parametrize("outer_loops", ["", "m", "b", "mb", "cm", "d", "e", "me", "mbd"])
def test_no_two_are_alive_together_whatever_loops_are_shared(outer_loops: str) -> None:
    """`walked_places` asserts it."""
    chain = layers()
    for own in ({}, {"P": "a", "S": "cd", "T": "e"}):
        free = {name: "".join(axis for axis in order if axis not in outer_loops) for name, order in own.items()}
        schedule = fused_schedule(chain, outer_loops, free, TILES)
        if is_executable(chain, schedule):
            walked_places(chain, schedule)


@pytest.mark.parametrize("storage", [Storage.KEEP, Storage.RECOMPUTE])
def test_nor_are_they_in_one_nest(storage: Storage) -> None:
    chain = layers()
    for order in permutations("mbcd"):
        schedule = permuted(chain, order, TILES, storage=storage)
        if is_executable(chain, schedule):
            walked_places(chain, schedule)


def test_operators_of_a_segment_run_together() -> None:
    extents: dict[str, Extent] = {"b": 2, "m": 4, "n": 3, "k": 3, "l": 6, "o": 5}
    chain = chain_of([*batch_operators(2, 4, 3, 3, 6, with_softmax=False), contraction("F", "bmn,bno->bmo", "EG", extents)])
    schedule = fused_schedule(chain, "bm", {}, {"b": 1, "m": 2, "l": 2}, fused_groups=(FusedGroup(("C", "E"), ("l",)),))
    assert found(chain, schedule) == [[("C",)], [("E",)]] == walked_places(chain, schedule)


def test_what_outlives_a_block_of_the_shared_loops_has_a_place_of_its_own() -> None:
    chain = layers()
    view = view_schedule(chain, fused_schedule(chain, "b", {}, TILES))
    assert [bool(is_lasting(view, group)) for group in (("P",), ("Q", "R"))] == [False, True]


def test_a_loop_whose_trips_a_call_decides_may_be_a_barrier() -> None:
    chain = layers(SymbolicExtent("rows", 6, 1, 100))
    view = view_schedule(chain, fused_schedule(chain, "m", {}, TILES))
    assert not any(is_lasting(view, group) for groups in shared_buffers(view) for group in groups)
