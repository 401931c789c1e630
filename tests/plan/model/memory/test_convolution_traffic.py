"""What the model says of a convolution's loops against the simulated caches, for two layers in both stationary orders.

Operands that pass through L1 are met to the byte where their blocks are whole lines: fetches of a packed copy's lines before its
first write, which the formulas leave out by definition, are the copy's size once. A fully associative cache serves all reuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from benchmarks.papers.stationary import Stays, with_stationary_orders
from tests.oracles.cache_simulator import CacheLevel, LevelTraffic
from tests.oracles.trace_replay import simulate
from tests.support.algorithms import forced
from tilewright.machine import Machine
from tilewright.plan.types import Plan
from tilewright.render.c.program import lower_program

MACHINE = Machine.named("zen5")
LAYERS = {"pointwise": (64, 256, 28, 1), "im2col": (64, 64, 28, 3)}
"""Channels, filters, size and taps, by the algorithm."""


def simulated(algorithm: str, stays: Stays) -> tuple[Plan, LevelTraffic]:
    """The plan of the product, and what happens in L1 when the layer runs."""
    channels, filters, size, taps = LAYERS[algorithm]
    w = np.zeros((filters, channels, taps, taps), np.float32)

    def layer(x: Any) -> Any:
        return tw.conv2d(x, w, padding=taps // 2)

    with forced(algorithm):
        model_plan = tw.jit(layer, target=MACHINE).lower(tw.spec((1, channels, size, size))).model_plan
    ordered = with_stationary_orders(model_plan, stays)
    (plan,) = (plan for plan in ordered.plans if plan.chain.operators[0].is_contraction())
    caches = [CacheLevel(level.size_bytes, level.line_bytes) for level in MACHINE.levels[:-1]]
    return plan, simulate(lower_program(ordered), caches).levels[0]


def predicted_bytes(plan: Plan, read: int) -> int:
    """Into L1, of a tensor that the product reads."""
    tensor = plan.chain.operators[0].reads[read].tensor
    return sum(moved.size_bytes for moved in plan.movements if (moved.level, moved.tensor) == ("L1", tensor))


def roles(plan: Plan) -> tuple[int, int]:
    """The numbers of the left and the right read."""
    found = plan.operators[0].roles
    assert found is not None
    return found.left, found.right


@pytest.mark.parametrize("algorithm", LAYERS)
def test_columns_stream_past_rows_that_stay(algorithm: str) -> None:
    """Every block of filters reads all windows, packed: each copy is fetched once more, before it is written."""
    plan, l1 = simulated(algorithm, Stays.ROWS)
    _, right = roles(plan)
    copied_bytes = next(traffic for traffic in l1.buffers if "packed" in traffic.buffer)
    assert copied_bytes.bytes_in == predicted_bytes(plan, right) + copied_bytes.bytes_back
    assert predicted_bytes(plan, right) > 10 * copied_bytes.bytes_back


def test_rows_stream_past_columns_that_stay() -> None:
    """Every block of windows reads all filters."""
    plan, l1 = simulated("pointwise", Stays.COLUMNS)
    left, _ = roles(plan)
    name = plan.chain.operators[0].reads[left].tensor
    assert l1.of(name).bytes_in == predicted_bytes(plan, left) == 13 * 256 * 64 * 4


def test_blocks_of_a_depth_that_are_no_whole_lines_cost_a_line_more_for_a_row() -> None:
    """Where the assumption fails: 83 floats of a row lie on 6 or 7 lines, and 5.2 would hold them."""
    plan, l1 = simulated("im2col", Stays.COLUMNS)
    left, _ = roles(plan)
    name = plan.chain.operators[0].reads[left].tensor
    depth = plan.schedule.path(plan.chain.operators[0].name)[0].tile
    assert depth % 16 != 0
    ratio = l1.of(name).bytes_in / predicted_bytes(plan, left)
    assert 1 < ratio < (depth + 2 * 15) / depth
