"""Which outputs go past the caches."""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw
from tests.support.chains import gemm_chain
from tilewright.graph.types import Chain
from tilewright.machine.machine import Machine
from tilewright.plan.planner import plan_chain
from tilewright.plan.types import Plan, TermKind

XEON = Machine.named("cascadelake-6240")
"""With a last cache of 24.75 MiB."""


def plan(rows: int, columns: int) -> Plan:
    return plan_chain(gemm_chain({"m": rows, "k": 64, "l": 64, "n": columns}), XEON)


def last(chain: Chain) -> str:
    return chain.operators[-1].name


def test_outputs_that_no_cache_holds_do() -> None:
    large = plan(131072, 64)
    assert large.non_temporal == (last(large.chain),)
    (term,) = (term for term in large.price.terms if term.kind is TermKind.NON_TEMPORAL_STORES)
    assert term.seconds < 0


def test_outputs_that_a_cache_holds_for_their_readers_do_not() -> None:
    assert plan(16384, 64).non_temporal == ()


def test_a_cache_far_larger_than_those_of_the_cores_is_not_theirs_alone() -> None:
    *nearer, last_cache, memory = XEON.levels
    socket = replace(last_cache, size_bytes=480 << 20)
    for cores, found in ((2, (last(gemm_chain({"m": 1, "k": 1, "l": 1, "n": 1})),)), (16, ())):
        machine = replace(XEON, cores=cores, levels=(*nearer, socket, memory))
        chain = gemm_chain({"m": 131072, "k": 64, "l": 64, "n": 64})
        assert plan_chain(chain, machine).non_temporal == found


def test_they_save_no_more_than_traffic_from_the_last_cache_costs() -> None:
    """One core of a socket with a slow memory: the price takes the output, which is not its own alone, from the last cache."""
    *nearer, last_cache, memory = XEON.levels
    socket = replace(last_cache, size_bytes=480 << 20)
    machine = replace(XEON, cores=1, levels=(*nearer, socket, replace(memory, bandwidth_bytes_per_s=1e9)))
    found = plan_chain(gemm_chain({"m": 32768, "k": 16, "l": 16, "n": 256}), machine)
    (saved,) = (term.seconds for term in found.price.terms if term.kind is TermKind.NON_TEMPORAL_STORES)
    (visible,) = (term.seconds for term in found.price.terms if term.kind is TermKind.VISIBLE_TRAFFIC)
    assert 0 < -saved <= visible
    assert found.predicted_seconds >= found.floor.compute_s


def test_a_few_mebibytes_are_own_whatever_the_cores_and_their_second_levels() -> None:
    """One core of a CPU with small second levels: outputs of 4 MiB stay in a last cache that holds them, of 12 MiB go past it."""
    nearest, second, last_cache, memory = XEON.levels
    small, wide = replace(second, size_bytes=512 << 10), replace(last_cache, size_bytes=64 << 20)
    machine = replace(XEON, cores=1, levels=(nearest, small, wide, memory))
    for rows, goes_past in ((16384, False), (49152, True)):
        found = plan_chain(gemm_chain({"m": rows, "k": 64, "l": 64, "n": 64}), machine)
        assert bool(found.non_temporal) is goes_past


def test_rows_that_are_no_whole_lines_do_not() -> None:
    assert plan(131072, 63).non_temporal == ()


def test_the_report_says_so() -> None:
    lowered = tw.jit(lambda x, w: x @ w, target="cascadelake-6240").lower(tw.spec((262144, 64)), tw.spec((64, 64)))
    assert "stores of out are non-temporal" in lowered.explain()
