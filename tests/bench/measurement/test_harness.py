from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.bench_cases import ATTENTIONS, TINY
from tests.support.hand_results import PRODUCTS, case, timing
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.int8 import Int8Case, saturated_product
from tilewright_bench.cases.int8_shapes import Int8Shape
from tilewright_bench.cases.required import Required
from tilewright_bench.measurement.contender import PLAIN_READ, TILEWRIGHT, Contender, Peer
from tilewright_bench.measurement.harness import CaseResult, Timing, measure
from tilewright_bench.measurement.rounds import MeasuredRates
from tilewright_bench.tables import required_table


class RoundRates(MeasuredRates):
    """A machine that does a GFLOP/s and reads a GB/s."""

    def __init__(self) -> None:
        """Nothing is measured."""

    def peak_flops_per_s(self) -> float:
        return 1e9

    def level_of(self, size_bytes: int) -> str:
        return "L1"

    def bandwidth_bytes_per_s(self, level: str) -> float:
        return 1e9


def measured(case: ChainCase, peers: list[Peer[ChainCase]], rounds: int = 1) -> CaseResult:
    return measure(case, peers, threads=1, rounds=rounds, rates=RoundRates())


def fixed(name: str, result: Callable[[], Any], calls: list[str] | None = None) -> Peer[ChainCase]:
    """A peer with one contender that always has the same result."""

    def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
        yield Contender(name, lambda: (calls if calls is not None else []).append(name), result)

    return Peer(name, (), prepare, "")


def test_wrong_contenders_are_checked_out_before_anything_is_timed() -> None:
    case, calls = ChainCase(TINY, False), list[str]()
    right, wrong = fixed("right", lambda: case.reference), fixed("wrong", lambda: case.reference * 1.01, calls)
    result = measured(case, [right, wrong], rounds=2)
    assert result.timing("right").seconds > 0
    assert result.timing("wrong").seconds is None
    assert result.timing("wrong").error == pytest.approx(0.01)
    assert calls == ["wrong"]


def test_peers_that_saturate_are_timed_but_are_not_the_best() -> None:
    tested = Int8Case(Int8Shape(2, 3, 4), weight_bits=8)
    a, b = (operand.astype(int) for operand in tested.operands)
    saturated = saturated_product(a, b) - 128 * b.sum(0)
    assert tested.error(saturated) > 0.01

    def made(name: str, result: Any, seconds: float) -> Peer[Int8Case]:
        contender = Contender(name, lambda: None, lambda: result, remote_turn=lambda: seconds)
        return Peer(name, (), lambda case, threads: [contender], "")

    results = {"right": (tested.reference, 2), "quick": (saturated, 1), "wrong": (tested.reference * 1.01, 1)}
    results |= {TILEWRIGHT: (tested.reference, 1), f"{TILEWRIGHT} fast": (saturated, 1)}
    peers = [made(name, *figures) for name, figures in results.items()]
    result = measure(tested, peers, threads=1, rounds=1, rates=RoundRates())
    assert result.best_peer() == result.timing("right")
    assert result.best_saturating_peer() == result.timing("quick")
    assert [timing.contender for timing in result.timings if timing.seconds is None] == ["wrong", f"{TILEWRIGHT} fast"]


def test_a_peer_that_fails_takes_no_part_and_says_why() -> None:
    def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
        raise RuntimeError("not on this CPU\nmore")

    result = measured(ChainCase(TINY, False), [Peer("sick", (), prepare, "")])
    assert result.timings == (Timing("sick", None, float("inf"), failure="RuntimeError: not on this CPU"),)


def test_our_own_failure_is_not_hidden() -> None:
    def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        measured(ChainCase(TINY, False), [Peer("tilewright", (), prepare, "", may_fail=False)])


def test_shares_of_reading_are_those_of_the_plain_read_in_the_same_round() -> None:
    tested = AttentionCase(ATTENTIONS["decode"], "t", Required(read_share=0.9))

    def prepare(case: AttentionCase, threads: int) -> Iterator[Contender]:
        for name, seconds in ((PLAIN_READ, 0.4), (TILEWRIGHT, 0.5)):
            yield Contender(name, lambda: None, lambda: case.reference, remote_turn=lambda seconds=seconds: seconds)

    result = measure(tested, [Peer(TILEWRIGHT, (), prepare, "")], threads=1, rounds=2, rates=RoundRates())
    assert result.timing(TILEWRIGHT).read_share == pytest.approx(0.8)
    assert result.best_peer() is None
    assert required_table.shortfalls(result, None) == ["80.0% of the bandwidth (90% wanted)"]


def test_bytes_bind_where_they_take_longer() -> None:
    own = timing("tilewright", 1e-4, 1e-4, flops=10**6, moved_bytes=4 * 10**6)
    bound_by_bytes = case("x", PRODUCTS, own, flops=10**6, moved_bytes=4 * 10**6)
    assert bound_by_bytes.is_memory_bound
    assert bound_by_bytes.bound_share(own) == pytest.approx(0.8)
    assert not case("x", PRODUCTS, own).is_memory_bound
