"""Convolution Slicing Analysis against a literal walk of its five loops, a dense search, and the paper's printed decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.papers.slicing_choices import largest_slicing, slicing_choice
from tilewright.errors import PlanningError
from tilewright.machine import Machine
from tilewright.plan.slicing import (
    ConvolutionSizes,
    Slicing,
    SlicingMachine,
    Stationary,
    exact_slicing,
    halved_slicing,
    largest_channels,
)

SIZES = st.builds(
    ConvolutionSizes,
    windows=st.integers(1, 150),
    filters=st.integers(1, 60),
    channels=st.integers(1, 40),
    taps=st.sampled_from([1, 4, 9]),
)
TILES = st.tuples(st.integers(1, 16), st.integers(1, 16))
CAPACITIES = st.tuples(st.integers(256, 4096), st.integers(4096, 20_000), st.integers(20_000, 90_000))
CACHES_32K_1M_4M = (32 << 10, 1 << 20, 4 << 20)
LATENCIES = (14.0, 50.0, 200.0)


@dataclass
class Walked:
    """Tile loads by the level that serves them, by operand; outputs that come back."""

    loads: Counter[tuple[str, str]]
    reloads: int


def walked(slicing: Slicing) -> Walked:
    """The five loops, one tile after the other. A set is in its cache from when it is loaded until another set is."""
    is_input = slicing.stationary is Stationary.INPUT
    stationary, streamed = (
        (slicing.image.count, slicing.filters.count) if is_input else (slicing.filters.count, slicing.image.count)
    )
    loads: Counter[tuple[str, str]] = Counter()
    visited: Counter[tuple[int, int]] = Counter()
    for _ in range(slicing.channel_sets):
        seen: set[tuple[str, int]] = set()
        in_l2: range | None = None
        for in_l3 in blocks(stationary, slicing.stationary_in_l3):
            for now_in_l2 in blocks(streamed, slicing.streamed_in_l2):
                is_resident = now_in_l2 == in_l2
                in_l2 = now_in_l2
                for first_in_set, s in enumerate(in_l3):
                    loads["stationary", "L3" if ("s", s) in seen else "memory"] += 1
                    seen.add(("s", s))
                    for t in in_l2:
                        source = "L2" if first_in_set or is_resident else "extra" if ("t", t) in seen else "memory"
                        loads["streamed", source] += 1
                        seen.add(("t", t))
                        visited[s, t] += 1
    assert set(visited.values()) == {slicing.channel_sets}
    assert len(visited) == stationary * streamed
    return Walked(loads, sum(count - 1 for count in visited.values()))


def blocks(total: int, size: int) -> list[range]:
    return [range(start, min(start + size, total)) for start in range(0, total, size)]


def machine_of(capacities: tuple[float, float, float], tile: tuple[int, int], line_bytes: int = 4) -> SlicingMachine:
    return SlicingMachine(capacities, LATENCIES, *tile, line_bytes)


@given(SIZES, CAPACITIES, TILES, st.sampled_from(Stationary), st.sampled_from([exact_slicing, halved_slicing, largest_slicing]))
def test_accesses_are_those_of_the_walk(sizes, capacities, tile, stationary, slice_one) -> None:  # type: ignore[no-untyped-def]
    """With lines of one element nothing is rounded; A2 counts what comes from memory again, as it passes through L2."""
    machine = machine_of(capacities, tile)
    try:
        slicing = slice_one(sizes, machine, stationary)
    except PlanningError:
        assume(False)
    loads = walked(slicing).loads
    lines = {"input": slicing.image.size_bytes // 4, "filter": slicing.filters.size_bytes // 4}
    s, t = ("input", "filter") if stationary is Stationary.INPUT else ("filter", "input")
    assert slicing.l2_accesses == lines[t] * (loads["streamed", "L2"] + loads["streamed", "extra"])
    assert slicing.l3_accesses == lines[s] * loads["stationary", "L3"]
    assert slicing.extra_accesses == lines[t] * loads["streamed", "extra"]
    assert slicing.cold_accesses == lines[s] * loads["stationary", "memory"] + lines[t] * loads["streamed", "memory"]


@given(SIZES, CAPACITIES, TILES, st.sampled_from(Stationary))
def test_sets_fit_and_are_the_largest(sizes, capacities, tile, stationary) -> None:  # type: ignore[no-untyped-def]
    machine = machine_of(capacities, tile)
    try:
        slicing = largest_slicing(sizes, machine, stationary)
    except PlanningError:
        assert used_in_l1(sizes, machine, 1) > capacities[0]
        return
    most = largest_channels(sizes, machine)
    assert used_in_l1(sizes, machine, most) <= capacities[0]
    assert most == sizes.channels or used_in_l1(sizes, machine, most + 1) > capacities[0]
    streamed, stationary_tiles = tiles(slicing)
    if slicing.streamed_in_l2 > 1:
        assert used_in_l2(slicing, slicing.streamed_in_l2) <= capacities[1]
    assert slicing.streamed_in_l2 == streamed or used_in_l2(slicing, slicing.streamed_in_l2 + 1) > capacities[1]
    if slicing.stationary_in_l3 > 1:
        assert used_in_l3(slicing, slicing.stationary_in_l3) <= capacities[2]
    assert slicing.stationary_in_l3 == stationary_tiles or used_in_l3(slicing, slicing.stationary_in_l3 + 1) > capacities[2]


SMALL = st.builds(ConvolutionSizes, st.integers(1, 12), st.integers(1, 12), st.integers(1, 6), st.sampled_from([1, 4]))


@settings(max_examples=40)
@given(SMALL, st.tuples(st.integers(64, 300), st.integers(150, 600), st.integers(300, 1500)), st.sampled_from(Stationary))
def test_the_exact_search_finds_the_least_of_all(sizes, capacities, stationary) -> None:  # type: ignore[no-untyped-def]
    """Every number of channel sets, every K2 and K3 that fit, walked."""
    machine = machine_of(tuple(sorted(capacities)), (2, 3))
    try:
        found = exact_slicing(sizes, machine, stationary)
    except PlanningError:
        assume(False)
    assert found.cost_cycles == pytest.approx(min(walked_cost(sizes, machine, one) for one in dense(sizes, machine, stationary)))
    for slice_one in (halved_slicing, largest_slicing):
        other = slice_one(sizes, machine, stationary)
        assert found.cost_cycles <= other.cost_cycles + reload_cost(other)


def dense(sizes: ConvolutionSizes, machine: SlicingMachine, stationary: Stationary) -> Iterator[Slicing]:
    like = largest_slicing(sizes, machine, stationary)
    for sets in range(1, sizes.channels + 1):
        channels = -(-sizes.channels // sets)
        if used_in_l1(sizes, machine, channels) > machine.capacities_bytes[0] or -(-sizes.channels // channels) != sets:
            continue
        one = replace(like, channels=channels)
        streamed, stays = tiles(one)
        for k2, k3 in product(range(1, streamed + 1), range(1, stays + 1)):
            sliced = replace(one, streamed_in_l2=k2, stationary_in_l3=k3)
            fits = used_in_l2(sliced, k2) <= machine.capacities_bytes[1], used_in_l3(sliced, k3) <= machine.capacities_bytes[2]
            if all(fits):
                yield sliced


def walked_cost(sizes: ConvolutionSizes, machine: SlicingMachine, slicing: Slicing) -> float:
    """Of lines of one element."""
    loads = walked(slicing).loads
    lines = slicing.image.size_bytes // 4, slicing.filters.size_bytes // 4
    stays, streams = lines if slicing.stationary is Stationary.INPUT else lines[::-1]
    served = [
        streams * (loads["streamed", "L2"] + loads["streamed", "extra"]),
        stays * loads["stationary", "L3"],
        stays * loads["stationary", "memory"] + streams * (loads["streamed", "memory"] + loads["streamed", "extra"]),
    ]
    outputs = sizes.windows * sizes.filters
    touched = 4 * outputs + slicing.image.count * slicing.image.size_bytes + slicing.filters.count * slicing.filters.size_bytes
    served[sum(touched > capacity for capacity in machine.capacities_bytes[1:])] += (slicing.channel_sets - 1) * outputs
    return sum(map(float.__mul__, LATENCIES, map(float, served)))


@given(SIZES, CAPACITIES, TILES, st.sampled_from(Stationary))
def test_channel_sets_are_balanced(sizes, capacities, tile, stationary) -> None:  # type: ignore[no-untyped-def]
    try:
        slicing = exact_slicing(sizes, machine_of(capacities, tile), stationary)
    except PlanningError:
        assume(False)
    assert slicing.channels == -(-sizes.channels // slicing.channel_sets)
    assert (slicing.channel_sets - 1) * slicing.channels < sizes.channels <= slicing.channel_sets * slicing.channels


@given(SIZES, CAPACITIES, TILES, st.sampled_from(Stationary))
def test_outputs_come_back_once_for_every_further_set(sizes, capacities, tile, stationary) -> None:  # type: ignore[no-untyped-def]
    """The walk counts tiles, whole ones; outputs of the tiles at the edges are fewer."""
    machine = machine_of(capacities, tile)
    try:
        slicing = exact_slicing(sizes, machine, stationary)
    except PlanningError:
        assume(False)
    outputs = sizes.windows * sizes.filters
    assert sum(slicing.reloads) == (slicing.channel_sets - 1) * outputs
    assert walked(slicing).reloads * slicing.output_tile_bytes >= sum(slicing.reloads) * 4
    if sizes.windows % tile[0] == sizes.filters % tile[1] == 0:
        assert walked(slicing).reloads * slicing.output_tile_bytes == sum(slicing.reloads) * 4


def test_lines_round_up_over_all_tiles_of_a_set() -> None:
    """Equations 8 to 14 round the bytes of all tiles together."""
    sizes, machine = ConvolutionSizes(10, 6, 3, 1), SlicingMachine(CACHES_32K_1M_4M, LATENCIES, 2, 3)
    slicing = largest_slicing(sizes, machine, Stationary.INPUT)
    assert (slicing.image.count, slicing.filters.count, slicing.image.size_bytes, slicing.filters.size_bytes) == (5, 2, 24, 36)
    assert slicing.cold_accesses == -(-(5 * 24 + 2 * 36) // 64) == 3
    assert slicing.l2_accesses == 4 * 2
    assert (slicing.l3_accesses, slicing.extra_accesses, slicing.cost_cycles) == (0, 0, 14 * 8 + 200 * 3)


def test_orders_are_each_other_with_roles_exchanged() -> None:
    wide = largest_slicing(ConvolutionSizes(400, 120, 64, 9), machine_of(CACHES_32K_1M_4M, (16, 8)), Stationary.INPUT)
    tall = largest_slicing(ConvolutionSizes(120, 400, 64, 9), machine_of(CACHES_32K_1M_4M, (8, 16)), Stationary.WEIGHT)
    assert wide.cost_cycles == tall.cost_cycles
    assert (wide.streamed_in_l2, wide.stationary_in_l3) == (tall.streamed_in_l2, tall.stationary_in_l3)


def test_reloads_decide_how_many_channels_a_set_has() -> None:
    """Where the assumption of the paper fails: more sets are cheaper by Equations 6 to 14 alone, not with their reloads."""
    sizes = ConvolutionSizes(windows=28 * 28, filters=512, channels=512, taps=9)
    machine = SlicingMachine(CACHES_32K_1M_4M, LATENCIES, 16, 8)
    exact = exact_slicing(sizes, machine, Stationary.INPUT)
    paper = largest_slicing(sizes, machine, Stationary.INPUT)
    assert paper.channel_sets > 1
    assert sum(paper.reloads) == (paper.channel_sets - 1) * sizes.windows * sizes.filters * 4 // 64
    assert paper.cost_cycles + reload_cost(paper) >= exact.cost_cycles


def test_the_decision_is_nearly_the_sign_of_windows_minus_filters() -> None:
    """Of a layer with many tiles of both kinds that all fit L3: the operand with the longer side of the tile stays."""
    sizes = ConvolutionSizes(windows=28 * 28, filters=256, channels=128, taps=9)
    for tile, stays in (((16, 8), Stationary.INPUT), ((8, 16), Stationary.WEIGHT)):
        machine = SlicingMachine(CACHES_32K_1M_4M, LATENCIES, *tile)
        assert slicing_choice(sizes, machine).chosen.stationary is stays


def test_machines_by_name() -> None:
    machine = SlicingMachine.of(Machine.named("cascadelake-4208"), 4, 16, share=0.5)
    assert machine.capacities_bytes[:2] == (16 << 10, 512 << 10)
    assert machine.cycles_per_line[0] < machine.cycles_per_line[1] < machine.cycles_per_line[2]


def test_a_tile_too_large_for_l1() -> None:
    with pytest.raises(PlanningError, match="not even one channel"):
        largest_channels(ConvolutionSizes(100, 100, 3, 121), SlicingMachine((4096, 8192, 16384), LATENCIES, 16, 8))


def tiles(slicing: Slicing) -> tuple[int, int]:
    """Streamed and stationary ones."""
    counts = slicing.filters.count, slicing.image.count
    return counts if slicing.stationary is Stationary.INPUT else counts[::-1]


def used_in_l1(sizes: ConvolutionSizes, machine: SlicingMachine, channels: int) -> int:
    windows, filters = machine.tile_windows, machine.tile_filters
    return 4 * (windows * sizes.taps * channels + filters * sizes.taps * channels + windows * filters)


def used_in_l2(slicing: Slicing, streamed: int) -> int:
    by_role = slicing.image.size_bytes, slicing.filters.size_bytes
    stays, streams = by_role if slicing.stationary is Stationary.INPUT else by_role[::-1]
    return stays + streamed * (streams + slicing.output_tile_bytes)


def used_in_l3(slicing: Slicing, stationary: int) -> int:
    by_role = slicing.image.size_bytes, slicing.filters.size_bytes
    stays, streams = by_role if slicing.stationary is Stationary.INPUT else by_role[::-1]
    k2 = slicing.streamed_in_l2
    return stationary * stays + k2 * streams + k2 * stationary * slicing.output_tile_bytes


def reload_cost(slicing: Slicing) -> float:
    return sum(cycles * lines for cycles, lines in zip(LATENCIES, slicing.reloads, strict=True))
