"""What masks let through, derived from bodies and laws; how much of a masked chain is computed, against counting pair by pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chains import chain as make
from tests.support.masked_chains import CAUSAL, L, M, both, by_data, masked_chain, shifted, window
from tests.support.operators import contraction, mapping
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Chain, SymbolicExtent
from tilewright.machine import Machine
from tilewright.plan.model.needed_work import needed_share
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import KeyLimit
from tilewright.plan.regions.masked_pairs import share_of_pairs
from tilewright.plan.regions.masks import LANES, key_mask_of, loops_around_mask
from tilewright.plan.schedule import fused_schedule
from tilewright.report.explain import explain_plan
from tilewright.report.reasons import limit_text

EXTENTS = {"b": 2, "m": 37, "l": 53, "k": 5, "n": 18}
NOTHING = Literal(float("-inf"))


def limits(chain: Chain) -> list[str]:
    guard = key_mask_of(chain)
    every = guard.limits if guard is not None else ()
    return [limit_text(KeyLimit(limit.constraint, limit.access.tensor if limit.access else "")) for limit in every]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (CAUSAL, ["-1*l + m >= 0"]),
        (apply("less", M, L), ["l + -1*m + -1 >= 0"]),
        (both(shifted(3), window(8)), ["-1*l + m + 3 >= 0", "l + -1*m + 8 >= 0"]),
        (apply("less", apply("multiply", Literal(2.0), L), apply("subtract", M, Literal(0.5))), ["-2*l + m + -1 >= 0"]),
        (
            apply("logical_not", apply("logical_or", apply("less", M, L), apply("less", L, Literal(4.0)))),
            ["-1*l + m >= 0", "l + -4 >= 0"],
        ),
        (apply("less", M, Literal(5.0)), []),
        (apply("less", apply("multiply", M, L), Literal(5.0)), []),
        (apply("equal", M, L), []),
    ],
)
def test_conditions_are_limits_of_keys(condition: Scalar, expected: list[str]) -> None:
    assert limits(masked_chain(EXTENTS, condition)) == expected


def test_values_of_the_data_limit_keys() -> None:
    condition, reads = by_data()
    found = limits(masked_chain(EXTENTS, condition, reads))
    assert found == ["-1*l + -1 + Lengths >= 0", "-1*l + m + Shifts >= 0", "l + -1*m + Windows >= 0"]


@pytest.mark.parametrize(
    ("body", "inside"),
    [
        (apply("where", CAUSAL, Load(0), NOTHING), Load(0)),
        (apply("where", apply("less", M, L), NOTHING, Load(0)), Load(0)),
        (apply("add", Load(0), apply("where", CAUSAL, Literal(0.0), NOTHING)), Load(0)),
        (apply("where", CAUSAL, apply("add", Load(0), M), NOTHING), apply("add", Load(0), M)),
        (
            apply("where", both(apply("greater", Load(0), Literal(1.0)), CAUSAL), Load(0), NOTHING),
            apply("where", apply("greater", Load(0), Literal(1.0)), Load(0), NOTHING),
        ),
    ],
)
def test_the_body_without_the_mask(body: Scalar, inside: Scalar) -> None:
    guard = key_mask_of(masked_chain(EXTENTS, CAUSAL, body=body))
    assert guard is not None
    assert [mask.inside for mask in guard.masks] == [inside]
    assert guard.operators == {"scores", "mask", "weights", "out"}


@pytest.mark.parametrize("safe", [False, True])
def test_what_is_filled_in_must_count_nothing(safe: bool) -> None:
    assert limits(masked_chain(EXTENTS, CAUSAL, safe=safe))
    assert limits(masked_chain(EXTENTS, CAUSAL, middle=""))
    assert not limits(masked_chain(EXTENTS, CAUSAL, body=apply("where", CAUSAL, Load(0), Literal(0.0)), safe=safe))
    assert not limits(masked_chain(EXTENTS, CAUSAL, middle="", body=apply("where", CAUSAL, Load(0), NOTHING)))
    assert not limits(masked_chain(EXTENTS, CAUSAL, body=apply("where", CAUSAL, Load(0), Literal(-1e9)), safe=safe))


def test_keys_that_something_else_needs_are_computed() -> None:
    chain = masked_chain(EXTENTS, CAUSAL)
    other = contraction("other", "C:bml", "D:bln", "F:bmn", EXTENTS)
    both_sums = mapping("sink", apply("add", Load(0), Load(1)), ["E:bmn", "F:bmn"], "G:bmn", EXTENTS)
    assert limits(chain)
    assert not limits(make("more", (*chain.operators, other, both_sums)))


def test_all_masks_limit_keys_where_every_reduction_sees_them() -> None:
    first, mask, *rest = masked_chain(EXTENTS, CAUSAL).operators
    near = mapping("near", apply("where", window(4), Load(0), NOTHING), ["T:bml"], "U:bml", EXTENTS)
    rows = replace(rest[0], reads=(replace(rest[0].reads[0], tensor="U"),))
    assert limits(make("twice", (first, mask, near, rows, rest[1]))) == ["-1*l + m >= 0", "l + -1*m + 4 >= 0"]


def test_a_sum_over_keys_and_another_axis_leaves_keys_out() -> None:
    scores, mask, _ = masked_chain(EXTENTS, CAUSAL, middle="").operators
    total = contraction("out", "T:bml", "D:bln", "E:bm", EXTENTS)
    assert limits(make("total", (scores, mask, total))) == ["-1*l + m >= 0"]


def test_keys_are_bounded_outside_of_their_own_loops() -> None:
    chain = masked_chain(EXTENTS, CAUSAL)
    tiles = {"b": 1, "m": 8, "l": 16, "n": 16, "k": 2}
    for outer_loops, around in (("bm", "bm"), ("bml", "bm"), ("blm", "b"), ("", "")):
        assert "".join(loop.axis for loop in loops_around_mask(chain, fused_schedule(chain, outer_loops, {}, tiles))) == around


CONDITIONS = st.sampled_from([CAUSAL, shifted(7), shifted(-20), both(shifted(30), window(9)), window(3), apply("less", L, M)])


@given(
    condition=CONDITIONS,
    rows=st.integers(1, 60),
    keys=st.integers(1, 90),
    tile=st.integers(1, 70),
    step=st.sampled_from([1, 16, 32]),
)
@settings(max_examples=60)
def test_the_work_of_blocks_is_what_counting_gives(condition: Scalar, rows: int, keys: int, tile: int, step: int) -> None:
    chain = masked_chain({**EXTENTS, "m": rows, "l": keys}, condition)
    computed = masked = 0
    needed = through(condition, rows, keys)
    for start in range(0, rows, tile):
        block = needed[start : start + tile]
        some = np.flatnonzero(block.any(axis=0))
        first = 0 if not len(some) else int(some[0]) // (2 * step) * 2 * step
        last = 0 if not len(some) else min(first + -(-(int(some[-1]) + 1 - first) // step) * step, keys)
        if len(some):
            computed += len(block) * (last - first)
            plain = block[:, first:last].all(axis=0)
            vectors = [plain[at : at + LANES] for at in range(0, last - first, LANES)]
            masked += len(block) * sum(len(one) for one in vectors if not one.all())
        else:
            computed, masked = computed + len(block) * min(step, keys), masked + len(block) * min(step, keys)
    found = share_of_pairs(chain, (tile,), 2 * step, step)
    pairs = rows * keys
    assert computed / pairs <= found[0] + 1e-9
    assert found[0] * pairs - computed <= sum(
        2 * step * min(tile, rows - at) for at in range(0, rows, tile) if nothing(needed, at, tile)
    )
    if not any(nothing(needed, at, tile) for at in range(0, rows, tile)):
        assert found[0] == pytest.approx(computed / pairs)
        assert masked <= found[1] * pairs + 1e-6
        assert found[1] * pairs <= masked + 2 * LANES * rows + 1e-6


def nothing(needed: np.ndarray, start: int, tile: int) -> bool:
    return not needed[start : start + tile].any()


def through(condition: Scalar, rows: int, keys: int) -> np.ndarray:
    """Which pairs a condition of positions lets through."""
    from tilewright.graph.expressions.scalar import Apply, AxisValue
    from tilewright.graph.expressions.scalar_functions import FUNCTIONS

    def value(node: Scalar) -> object:
        if isinstance(node, AxisValue):
            return np.arange(rows)[:, None] if node.axis == "m" else np.arange(keys)[None, :]
        if isinstance(node, Apply):
            return FUNCTIONS[node.function].numpy(*map(value, node.operands))
        return node.value

    return np.broadcast_to(value(condition), (rows, keys))


def test_prices_count_what_is_computed_and_tiles_do_not_waste_it() -> None:
    machine = Machine.named("cascadelake-6240")
    extents = {"b": 8, "m": 2048, "l": 2048, "k": 64, "n": 64}
    causal = masked_chain(extents, CAUSAL)
    plan, full = plan_chain(causal, machine), plan_chain(masked_chain(extents, apply("less", L, Literal(4096.0))), machine)
    assert plan.price.seconds < 0.56 * full.price.seconds
    assert plan.floor.flops == pytest.approx(full.floor.flops * needed_share(causal, "out"), rel=1e-6)
    assert plan.key_blocks is not None
    assert plan.key_blocks.empty > 0.45
    assert plan.key_blocks.partial < 0.05
    assert plan.key_blocks.empty + plan.key_blocks.partial + plan.key_blocks.full == pytest.approx(1)
    assert "l where -1*l + m >= 0: per block of m" in explain_plan(plan)


def test_run_time_extents_are_planned_with_their_hints() -> None:
    from tilewright.graph.expressions.scalar import Parameter

    past = apply("subtract", Parameter("l"), Parameter("m"))
    condition = apply("less_equal", L, apply("add", M, past))
    extents = {**EXTENTS, "m": SymbolicExtent("m", 1, 64, 16), "l": SymbolicExtent("l", 1, 4096, 256)}
    chain = masked_chain(extents, condition)
    assert limits(chain) == ["-1*l + m + l - m >= 0"]
    assert needed_share(chain, "scores") == pytest.approx((256 * 16 - 16 * 15 / 2) / (256 * 16))
