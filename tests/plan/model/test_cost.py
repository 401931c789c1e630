"""The price of one operator: never below its lower bound, and what a repeated call finds in a cache costs no memory traffic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain, chain_of, contraction
from tests.plan.exhaustive import operator_work
from tilewright.coefficients import coefficients_for
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Chain
from tilewright.plan.model.cost import floor, least_work, measure, seconds, traffic_seconds
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.memory.traffic import chain_figures, set_conflict, share_bytes
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.regions.loop_views import block_count, blocks_in_view, view_outer_loops, view_schedule
from tilewright.plan.schedule import Storage, fused_schedule
from tilewright.plan.space.schedule_space import space_of, thinned_axes


def setting_for(chain: Chain) -> CostContext:
    roles = {operator.name: contraction_roles(operator) for operator in chain.operators if operator.is_contraction()}
    return context_of(chain, CASCADE_LAKE, dict.fromkeys(roles, KERNELS[0]), roles, coefficients_for(CASCADE_LAKE))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 3), *(st.sampled_from((1, 17, 64, 131, 512, 640)) for _ in range(4)), st.booleans())
def test_no_operator_costs_less_than_its_bound(
    data: st.DataObject, b: int, m: int, n: int, k: int, length: int, with_softmax: bool
) -> None:
    context = setting_for(batch_chain(b, m, n, k, length, with_softmax=with_softmax))
    space = space_of(context)
    outer_loops = data.draw(st.sampled_from(space.outer_orders()))
    tiles = {axis: data.draw(st.sampled_from(space.outer_tiles(axis))) for axis in outer_loops}
    outer = fused_schedule(context.chain, outer_loops, {}, tiles, {})
    view = view_schedule(context.chain, outer)
    around = chain_figures(context, view)
    for one in view.operators:
        own = {axis.name for axis in one.operator.axes}
        repeats = int(np.prod([loop.trips for loop in one.running() if loop.axis not in own], dtype=np.int64))
        least = least_work(context, one.operator, measure(context, one.operator, one.tiles))
        bound = seconds(
            context,
            replace(
                least,
                arithmetic_s=least.arithmetic_s * repeats,
                functions_s=least.functions_s * repeats,
                overhead_s=least.overhead_s * repeats,
            ),
        )
        prices = [seconds(context, operator_work(context, around, one))]
        if may_stay(context, one.operator):
            conflict = set_conflict(context, one.operator, context.cache_levels[0])
            prices.append(seconds(context, operator_work(context, around, one, conflict=conflict)))
        assert bound <= min(prices) * (1 + 1e-12)


def test_tensors_that_a_cache_holds_between_calls_do_not_come_from_memory() -> None:
    small, large = (setting_for(batch_chain(b, 512, 64, 64, 512, with_softmax=False)) for b in (2, 64))
    assert [one.machine.levels[one.source_position].name for one in (small, large)] == ["L3", "memory"]
    for one, comes_from_memory in ((small, False), (large, True)):
        view = view_schedule(one.chain, fused_schedule(one.chain, "bm", {}, {"b": 1, "m": 48}, {}))
        work = operator_work(one, chain_figures(one, view), view.operators[0])
        assert (traffic_seconds(one, work)["L3"] > 0) is comes_from_memory
        assert traffic_seconds(one, work)["L2"] > 0


def test_a_cache_is_shared_by_no_more_cores_than_have_a_block() -> None:
    chain = batch_chain(12, 512, 64, 64, 512, with_softmax=False)
    level = CASCADE_LAKE.level("L3")
    tiles = {"b": np.array([[1], [12], [12]]), "m": np.array([[512, 48]])}
    view = view_outer_loops(chain, ("b", "m"), tiles, {"C": Storage.KEEP})
    blocks = blocks_in_view(view, 2)
    assert np.array_equal(blocks, [[12, 132], [1, 11], [1, 11]])
    for cores in (1, 4, CASCADE_LAKE.cores):
        context = replace(setting_for(chain), machine=replace(CASCADE_LAKE, cores=cores))
        for count in np.ravel(blocks):
            sharing = min(level.shared_by_cores, cores, int(count))
            assert share_bytes(context, level, int(count)) == level.size_bytes // sharing
        for outer_loops, tiles in ((("m",), {"m": 48}), (("b", "m"), {"b": 12, "m": 512}), (("b", "m"), {"b": 1, "m": 48})):
            schedule = fused_schedule(chain, outer_loops, {}, tiles, {})
            assert blocks_in_view(view_schedule(chain, schedule), len(outer_loops)) == block_count(chain, schedule)


def test_a_plan_on_one_core_has_the_whole_cache() -> None:
    """What one of two blocks touches, 1 MiB and a bit, fits L3, but not a core's share of it if another runs beside it."""
    chain = batch_chain(2, 512, 64, 64, 512, with_softmax=False)
    for cores, is_held in ((1, True), (2, False)):
        levels = tuple(replace(one, size_bytes=3 << 18) if one.name == "L3" else one for one in CASCADE_LAKE.levels)
        context = replace(setting_for(chain), machine=replace(CASCADE_LAKE, cores=cores, levels=levels))
        view = view_schedule(chain, fused_schedule(chain, ("b",), {}, {"b": 1}, {}))
        assert chain_figures(context, view).held["L3"] == (False, is_held)


@pytest.mark.parametrize(("size", "thinned"), [(8192, ()), (32768, ("m",))])
def test_axes_of_which_not_every_tile_is_tried_are_named(size: int, thinned: tuple[str, ...]) -> None:
    product = chain_of([contraction("C", "mk,kn->mn", "AB", dict.fromkeys("mkn", size))])
    assert thinned_axes(setting_for(product)) == thinned


def test_the_floor_reads_from_where_the_tensors_are() -> None:
    chain = batch_chain(2, 512, 64, 64, 512, with_softmax=False)
    found = floor(chain, CASCADE_LAKE)
    assert found.memory_s == found.compulsory_bytes / CASCADE_LAKE.level("L3").bandwidth_bytes_per_s
    no_l3 = replace(CASCADE_LAKE, levels=(*CASCADE_LAKE.levels[:2], CASCADE_LAKE.levels[-1]))
    assert floor(chain, no_l3).memory_s == found.compulsory_bytes / CASCADE_LAKE.level("memory").bandwidth_bytes_per_s
