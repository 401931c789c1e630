"""Producers that compute required regions of their consumers: blocks, live state and movement against the walk, and a closed
form."""

from __future__ import annotations

from itertools import permutations, product
from math import prod

import pytest

from tests.oracles.movements import movements
from tests.plan.cases import chain_of, elementwise
from tests.plan.walk import blocks, walked_live, walked_movements
from tests.support.halo_chains import RELU, conv, halo_chain, pad, pool
from tilewright.graph.types import Chain
from tilewright.plan.model.memory.working_set import held_sizes, live_bytes
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.loop_views import parallel_axes, reordered, view_outer_loops, view_schedule
from tilewright.plan.regions.required_regions import schedule_region_axes
from tilewright.plan.schedule import Schedule, fused_schedule, planned_sizes
from tilewright.plan.space.executability import is_executable, why_not_executable
from tilewright.plan.space.schedule_space import may_be_line_buffered, may_lead

PREFIXES = [("h2",), ("w2",), ("h2", "w2"), ("w2", "h2")]


def points(chain: Chain, schedule: Schedule, operator: str) -> int:
    """What the views say that an operator computes in all."""
    one = view_schedule(chain, schedule).of(operator)
    return prod(int(one.computed_sizes(planned_sizes(chain))[axis.name]) for axis in one.operator.axes)


def walked_points(chain: Chain, schedule: Schedule, operator: str) -> int:
    runs = [ranges for one, ranges in blocks(chain, schedule) if one.name == operator]
    axes = [axis.name for axis in chain.operator(operator).axes]
    return sum(prod(high - low for low, high in (ranges[axis] for axis in axes)) for ranges in runs)


def live(chain: Chain, schedule: Schedule) -> int:
    """The walk's largest number of live elements, buffer by buffer."""
    return sum(max(walked_live(chain, schedule, group)) for group in in_place_groups(chain))


@pytest.mark.parametrize("outer_loops", PREFIXES)
@pytest.mark.parametrize(("kernel", "stride"), [(2, 1), (3, 1), (5, 1), (2, 2), (3, 2), (1, 2), (4, 3), (2, 4)])
def test_recomputed_images_are_those_of_the_walk(outer_loops: tuple[str, ...], kernel: int, stride: int) -> None:
    chain = halo_chain(7 + 6 * stride + kernel, 4 + 3 * stride + kernel, 1, [conv(2, 1), conv(kernel, 1, stride)])
    sizes = planned_sizes(chain)
    for tiles in product((1, 2, 3, sizes["h2"] - 1), (1, 3)):
        schedule = fused_schedule(chain, outer_loops, {}, dict(zip(("h2", "w2"), tiles, strict=True)))
        assert is_executable(chain, schedule)
        assert points(chain, schedule, "T1") == walked_points(chain, schedule, "T1")
        assert int(live_bytes(view_schedule(chain, schedule)) // 4) == live(chain, schedule)
        if kernel >= stride:
            assert movements(view_schedule(chain, schedule)) == walked_movements(chain, schedule)


@pytest.mark.parametrize("outer_loops", PREFIXES)
@pytest.mark.parametrize(("kernel", "stride"), [(2, 1), (3, 1), (5, 1), (3, 2), (4, 3), (2, 2), (2, 4)])
def test_rolled_images_are_those_of_the_walk(outer_loops: tuple[str, ...], kernel: int, stride: int) -> None:
    chain = halo_chain(7 + 6 * stride + kernel, 4 + 3 * stride + kernel, 1, [conv(2, 1), conv(kernel, 1, stride)])
    sizes = planned_sizes(chain)
    for tiles in product((1, 2, 3, sizes["h2"] - 1), (1, 3)):
        cut = dict(zip(("h2", "w2"), tiles, strict=True))
        recomputed, line_buffered = (fused_schedule(chain, outer_loops, {}, cut, line_buffered=names) for names in ((), ("T1",)))
        assert is_executable(chain, line_buffered)
        view = view_schedule(chain, line_buffered)
        assert int(live_bytes(view) // 4) == live(chain, line_buffered) == live(chain, recomputed)
        if kernel >= stride:
            assert points(chain, line_buffered, "T1") == walked_points(chain, line_buffered, "T1")
            assert walked_movements(chain, line_buffered)["X"] <= movements(view)["X"]
            assert walked_movements(chain, line_buffered)["X"] <= walked_movements(chain, recomputed)["X"]


@pytest.mark.parametrize("tile", [1, 2, 4])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (5, 1), (3, 2), (2, 2)])
def test_recomputation_is_that_of_the_closed_form(tile: int, kernel: int, stride: int) -> None:
    size = 7 * stride + kernel
    chain = halo_chain(size, size, 2, [conv(1, 2), conv(kernel, 1, stride)])
    schedule = fused_schedule(chain, ("h2", "w2"), {}, {"h2": tile, "w2": tile})
    once = 2 * 2 * (8 * stride) ** 2
    factor = ((tile - 1) * stride + kernel) / (tile * stride)
    assert points(chain, schedule, "T1") / once == pytest.approx(factor**2)


def test_carried_halos_are_what_neighbours_share() -> None:
    chain = halo_chain(10, 8, 2, [conv(3, 3), conv(3, 4)])
    view = view_schedule(chain, fused_schedule(chain, ("h2",), {}, {"h2": 2}, line_buffered=("T1",)))
    assert int(view.of("T1").line_buffered) == 2 * 2 * 6 * 3
    assert (held_sizes(view, "T1")["h"], held_sizes(view, "T1")["w"]) == (4, 6)


LONG = {
    "three convolutions": halo_chain(11, 9, 1, [conv(3, 1), conv(2, 1, 2), conv(2, 1)]),
    "padded": halo_chain(7, 6, 1, [conv(3, 1), RELU, pad(1), conv(3, 1)]),
    "padded on both": halo_chain(6, 5, 1, [pad(1), conv(3, 1), pad(2), conv(5, 1, 2)]),
    "pooled": halo_chain(9, 8, 1, [conv(2, 1), RELU, pool(3, 2)]),
}


@pytest.mark.parametrize("name", LONG)
def test_long_chains_never_need_more_than_the_views_say(name: str) -> None:
    chain = LONG[name]
    last = [next(iter(index.axes())) for index in chain.operators[-1].write.indices[1:3]]
    for outer_loops in ((last[0],), (last[1],), (last[0], last[1])):
        groups = may_be_line_buffered(chain, outer_loops)
        assert groups
        for chosen in product((False, True), repeat=len(groups)):
            line_buffered = [tensor for group, one in zip(groups, chosen, strict=True) if one for tensor in group]
            schedule = fused_schedule(chain, outer_loops, {}, dict.fromkeys(last, 2), line_buffered=line_buffered)
            assert is_executable(chain, schedule)
            assert live(chain, schedule) <= int(live_bytes(view_schedule(chain, schedule)) // 4)
            for operator in chain.operators:
                assert walked_points(chain, schedule, operator.name) <= points(chain, schedule, operator.name)


@pytest.mark.parametrize("line_buffered", [(), ("T1",), ("T2",), ("T1", "T2")])
def test_views_of_prefixes_are_those_of_their_trees(line_buffered: tuple[str, ...]) -> None:
    chain = LONG["three convolutions"]
    for outer_loops in (("h3",), ("w3", "h3"), ("h3", "w3")):
        tiles = {"h3": 2, "w3": 1}
        schedule = fused_schedule(chain, outer_loops, {}, tiles, line_buffered=line_buffered)
        here = view_outer_loops(chain, outer_loops, {**planned_sizes(chain), **tiles}, dict(schedule.storage))
        there = view_schedule(chain, schedule)
        for one, other in zip(here.operators, there.operators, strict=True):
            assert one.regions == other.regions
            assert one.tiles == other.tiles
            assert one.line_buffered == other.line_buffered
            assert one.loops == other.loops


@pytest.mark.parametrize(("order", "line_buffered"), [(("h3", "w3"), ()), (("w3", "h3"), ()), (("o3", "h3", "w3"), ("T1", "T2"))])
def test_loops_of_a_view_can_be_reordered(order: tuple[str, ...], line_buffered: tuple[str, ...]) -> None:
    chain = LONG["three convolutions"]
    last = len(order) - bool(line_buffered)
    for outer_loops in ((*head, *order[last:]) for head in permutations(order[:last])):
        tiles = {**planned_sizes(chain), "h3": 2, "w3": 1}
        storage = dict(fused_schedule(chain, outer_loops, {}, tiles, line_buffered=line_buffered).storage)
        there = reordered(view_outer_loops(chain, order, tiles, storage), [order.index(axis) for axis in outer_loops])
        for one, other in zip(view_outer_loops(chain, outer_loops, tiles, storage).operators, there.operators, strict=True):
            assert (one.loops, one.tiles, one.line_buffered) == (other.loops, other.tiles, other.line_buffered)
            assert {axis: walk.total for axis, walk in one.regions.items()} == {
                axis: w.total for axis, w in other.regions.items()
            }


def test_blocks_are_independent_unless_they_are_rolled() -> None:
    chain = halo_chain(10, 8, 2, [conv(3, 3), conv(3, 4)])
    tiles = {"h2": 2, "w2": 3}
    assert parallel_axes(chain, fused_schedule(chain, ("h2", "w2"), {}, tiles)) == ("h2", "w2")
    assert parallel_axes(chain, fused_schedule(chain, ("h2", "w2"), {}, tiles, line_buffered=("T1",))) == ("h2",)


def test_a_buffer_can_only_be_rolled_along_a_loop_that_moves_it() -> None:
    chain = halo_chain(10, 8, 2, [conv(3, 3), conv(3, 4)])
    schedule = fused_schedule(chain, ("h2", "o2"), {}, {"h2": 2, "o2": 1}, line_buffered=("T1",))
    assert may_be_line_buffered(chain, ("h2", "o2")) == ()
    assert why_not_executable(chain, schedule) == "T1 cannot have a circular line buffer along the innermost shared loop"


def test_equal_axes_are_nothing_to_follow() -> None:
    extents = {"m": 6, "n": 5}
    chain = chain_of((elementwise("R", "mn", [("A", "mn")], extents), elementwise("S", "mn", [("R", "mn")], extents)))
    assert schedule_region_axes(chain, fused_schedule(chain, ("m", "n"), {}, {"m": 2, "n": 1})) == {}
    assert may_lead(chain, "m")
