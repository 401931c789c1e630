"""Bytes of operands of short types in the cache simulator: what the planner's formulas say, to the line."""

from __future__ import annotations

import pytest

from tests.codegen.test_typed_products import BFLOAT16, U8_S8, plan_of
from tests.oracles.cache_simulator import CacheLevel
from tests.oracles.movements import schedule_movements
from tests.oracles.trace_replay import simulate
from tests.support.chains import decided
from tilewright.graph.types import Graph, element_bytes
from tilewright.kernels.contract import ElementTypes
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Loop, Pack, Schedule
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import lower_program

EXTENTS = {"b": 1, "m": 64, "n": 256, "k": 512}
ROWS, CACHE_BYTES, LINE_BYTES = 16, 48 << 10, 64


@pytest.mark.parametrize("types", [U8_S8, BFLOAT16], ids=["u8s8", "bf16"])
def test_blocks_of_rows_move_the_bytes_of_each_operand(types: ElementTypes) -> None:
    """The cache holds a block of rows and the panel that passes by, but not all panels: every block reads them anew.

    The packed copy is written once before, which brings its lines in; some of the last ones are still there.
    """
    kernel = for_machine(Machine.named("x86-64-v2"), element_types=types)[0]
    layout = panels(kernel.columns, kernel.interleave)
    loops = (Loop("m", ROWS, (Loop("n", kernel.columns, (Compute("f0"),)),)),)
    plan = plan_of(types, (Pack("f0", 1, layout), *loops), EXTENTS)
    moved = schedule_movements(plan.chain, Schedule(loops))
    graph = Graph("test", plan.chain.tensors, plan.chain.operators, plan.chain.inputs, (plan.chain.output,))
    level = simulate(lower_program(ModelPlan(graph, (decided(plan),), ())), [CacheLevel(CACHE_BYTES)]).levels[0]
    left, right, result = (element_bytes(dtype) for dtype in types)
    packed = layout.elements((EXTENTS["k"], EXTENTS["n"])) * right
    assert packed == 512 * 256 * right > CACHE_BYTES
    assert level.of("x0").misses * LINE_BYTES == moved["x0"] * left == 64 * 512 * left
    assert level.of("y0").misses * LINE_BYTES == packed
    wanted = moved["y0"] * right + packed
    assert wanted - 64 * LINE_BYTES <= level.of("packed_y0").misses * LINE_BYTES <= wanted
    assert level.of("z0").write_backs * LINE_BYTES == moved["z0"] * result == 64 * 256 * result
