"""G1 (one batch) at 48 KiB: what the search claims to move, against replays of the generated nests.

The claim, 458,752 elements, is for a cache that always keeps the right lines. LRU does not: between two uses of A's tile it sees
the next tile of B as well. With that counted (`plan.papers.lru_working_set`) the best schedule moves 524,288, and an LRU cache
moves exactly that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from benchmarks.papers.example_chains import gemm_chain
from tests.oracles.cache_simulator import CacheLevel, LevelTraffic, Touches, simulate_touches
from tests.oracles.ideal import ideal_traffic
from tests.oracles.lru_working_set import lru_working_set
from tests.oracles.programs import nest
from tests.oracles.trace_replay import record
from tests.support.chains import hand_plan
from tilewright.arrays import Count
from tilewright.graph.types import Graph
from tilewright.kernels.registry import registered
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.permutations import TileChoice, least_movement, working_set
from tilewright.plan.regions.loop_views import ChainView, view_schedule
from tilewright.plan.schedule import Compute, Pack, Schedule
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import lower_program

SIZE = 48 << 10
LINE_ELEMENTS = 16
CHAIN = gemm_chain(512, 64, 64, 512)
MATRIX = 512 * 64
"""Elements of each of A, B, D and E."""
KERNEL = next(kernel for kernel in registered() if kernel.name == "matmul_portable_f32_6x8")
PACKING = 4 * MATRIX
"""B and D are read once and their copies fetched (write-allocation): in front of the loops, once."""
WRITE_BACKS = 2 * MATRIX
"""Of the copies."""


@lru_cache(maxsize=2)
def replayed(rows: int, columns: int) -> tuple[Schedule, Touches]:
    """Loops m, l around both products; B and D packed ahead."""
    names = [operator.name for operator in CHAIN.operators]
    packs = [Pack(name, 1, panels(KERNEL.columns)) for name in names]
    schedule = Schedule((*packs, *nest("ml", {"m": rows, "l": columns}, *map(Compute, names))))
    plan = hand_plan(CHAIN, schedule, Machine.named("x86-64-v2"), KERNEL)
    graph = Graph("g1", CHAIN.tensors, CHAIN.operators, CHAIN.inputs, (CHAIN.output,))
    return schedule, record(lower_program(ModelPlan(graph, (plan,), ())))


def best(memory: Callable[[ChainView], Count] = working_set) -> TileChoice:
    """The paper's order; blocks of l are whole panels of the micro kernel."""
    return least_movement(CHAIN, "mlkn", SIZE // 4, multiples={"l": KERNEL.columns}, memory=memory)


def on_lru(touches: Touches, ways: int = 0) -> LevelTraffic:
    return simulate_touches(touches, [CacheLevel(SIZE, 64, ways)]).levels[0]


def test_ideal_replacement_confirms_the_claim() -> None:
    """Within 1%: at the borders of blocks an ideal cache keeps some lines of B and D that the formula fetches again."""
    choice = best()
    assert (choice.moved, choice.tiles["m"], choice.tiles["l"]) == (458752, 86, 8)
    _, touches = replayed(86, 8)
    lines = ideal_traffic(touches, SIZE // 64)
    fetched = {name: lines[name, "misses"] * LINE_ELEMENTS for name in touches.buffers}
    c_tile = 86 * 8
    assert (fetched["A"], fetched["B"], fetched["D"], fetched["C"]) == (MATRIX, MATRIX, MATRIX, c_tile)
    moved = fetched["A"] + fetched["packed_B"] + fetched["packed_D"] - 2 * MATRIX + lines["E", "write_backs"] * LINE_ELEMENTS
    assert moved == pytest.approx(choice.moved, rel=0.01)


def test_lru_does_not_serve_that_schedule_and_the_model_knows() -> None:
    schedule, touches = replayed(86, 8)
    assert lru_working_set(view_schedule(CHAIN, schedule)) == 13232 > SIZE // 4
    assert on_lru(touches).of("A").misses * LINE_ELEMENTS > 50 * MATRIX


def test_lru_moves_what_the_model_claims_of_the_best_schedule_for_lru() -> None:
    """To the element. Besides: E's lines are fetched before they are overwritten, C's tile comes and goes once, packing."""
    choice = best(lru_working_set)
    assert (choice.moved, choice.tiles["m"], choice.tiles["l"]) == (524288, 74, 8)
    _, touches = replayed(74, 8)
    level = on_lru(touches)
    c_tile = 2 * 74 * 8
    assert level.bytes_behind // 4 == choice.moved + PACKING + WRITE_BACKS + MATRIX + c_tile
    assert level.of("A").misses * LINE_ELEMENTS == level.of("E").misses * LINE_ELEMENTS == MATRIX


def test_twelve_ways_serve_the_usable_share_but_not_all() -> None:
    """Full to 99%, sets overflow. At 0.65, the share that the planner uses, the claim is met to the element."""
    assert on_lru(replayed(74, 8)[1], 12).bytes_behind // 4 > 2 * 524288
    choice = least_movement(CHAIN, "mlkn", int(0.65 * SIZE / 4), multiples={"l": KERNEL.columns})
    assert (choice.moved, choice.tiles["m"]) == (720896, 52)
    level = on_lru(replayed(52, 8)[1], 12)
    assert level.bytes_behind // 4 == choice.moved + PACKING + MATRIX + WRITE_BACKS + 2 * 52 * 8
