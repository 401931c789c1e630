"""The simulator of cores: bandwidth divided fairly, every block dealt once, one core's time equal to the price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from benchmarks.papers.cores.cases import case_named
from benchmarks.papers.cores.links import Link, links_of, max_min_fair
from benchmarks.papers.cores.simulation import simulate_calls, simulate_cores
from benchmarks.papers.cores.timeline import Block, Shares, region_seconds
from tests.oracles.cache_simulator import CacheLevel, Simulation
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan

PAPER = Machine.named("cascadelake-6240")


def planned(name: str, *, fuse: bool | None = None) -> ModelPlan:
    function, operands = case_named(name)
    return tw.jit(function, target=PAPER, fuse=fuse).lower(*operands).model_plan


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.floats(0.1, 300))
def test_nobody_gets_less_than_another_unless_it_asks_for_no_more(demands: list[float], capacity: float) -> None:
    granted = max_min_fair(demands, capacity)
    assert all(got <= wanted for got, wanted in zip(granted, demands, strict=True))
    assert sum(granted) == pytest.approx(min(sum(demands), capacity))
    short = [got for got, wanted in zip(granted, demands, strict=True) if got < wanted]
    assert all(got >= max(granted) - 1e-9 * capacity for got in short)


@given(st.integers(1, 900), st.integers(1, 18), st.randoms(use_true_random=False))
def test_every_block_is_dealt_once(blocks: int, cores: int, random: object) -> None:
    shares, taken = Shares(blocks, cores), list[int]()
    while grain := shares.take(random.randrange(cores)):  # type: ignore[attr-defined]
        taken += grain
    assert sorted(taken) == list(range(blocks))


def test_a_slow_core_leaves_blocks_to_others() -> None:
    seconds = region_seconds(2, 8, lambda core, blocks: Block(5.0 if core == 0 else 1.0, ()), ())
    assert seconds == 10.0  # 2 blocks on the slow core, 6 on the other; 20 without stealing


def test_what_moves_shows_only_where_arithmetic_does_not_hide_it() -> None:
    link = Link("memory", 10.0, 20.0)
    assert Block(2.0, (10.0,), visible=0.25).alone_s((link,)) == 2.25
    assert Block(0.5, (10.0,), visible=0.0).alone_s((link,)) == 1.0


def test_cores_share_the_levels_behind_their_own() -> None:
    shared = Simulation([CacheLevel(1024, 64, 16)], ("x",), 41)
    cores = [Simulation([CacheLevel(128, 64, 2)], ("x",), 41, behind=shared) for _ in range(2)]
    touches = np.arange(4, dtype=np.uint64) << np.uint64(1)
    for core in cores:
        core.library.tw_simulate(core.address, touches.ctypes.data, touches.size)
    assert [core.crossed_bytes() for core in cores] == [[256], [256]]
    assert shared.crossed_bytes() == [256]  # the second core finds what the first one has fetched


@pytest.mark.parametrize("name", ["G12", "C7", "low_rank"])
def test_one_core_takes_what_the_price_says(name: str) -> None:
    plan = planned(name)
    assert simulate_cores(plan, 1).seconds == pytest.approx(plan.predicted_seconds, rel=0.15)


def test_cores_divide_the_time_of_even_blocks_and_no_more() -> None:
    plan = planned("G12")
    one, several = (simulate_cores(plan, cores).seconds for cores in (1, 6))
    assert 5 < one / several < 6


def test_memory_that_all_want_bounds_the_time() -> None:
    plan = planned("G12")
    caches, memory = links_of(PAPER)
    slow = caches, replace(memory, total_bytes_per_s=1e9)
    (cold,), (bound,) = (simulate_calls(plan, 6, 1, links=links) for links in ((caches, memory), slow))
    assert bound.crossed_bytes[-1] == pytest.approx(cold.crossed_bytes[-1], rel=0.05)
    assert bound.seconds >= bound.crossed_bytes[-1] / 1e9 > cold.seconds


def test_what_another_core_wrote_comes_from_the_shared_cache() -> None:
    plan = planned("G10")  # b is packed in four blocks by the first four cores, and read whole by all six
    alone, several = (simulate_cores(plan, cores).crossed_bytes for cores in (1, 6))
    assert alone[1:] == (0, 0)
    assert several[1] == pytest.approx((4 * 3 + 2 * 4) * 16 * 1024, rel=0.1)
    assert several[2] == 0
