"""The trace of generated code against a literal walk, and its traffic against the movement formulas."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from tests.oracles.cache_simulator import CacheLevel, Touches, simulate_touches
from tests.oracles.literal_walk import Touch, Walker, fused_chain
from tests.oracles.lru import counted, slow_counts
from tests.oracles.movements import schedule_movements
from tests.oracles.programs import KERNEL, fused, nest, program
from tests.oracles.trace_replay import Placement, record, simulate
from tests.support.algorithms import forced
from tests.support.chains import chain, gemm_chain
from tests.support.operators import mapping
from tilewright import compiler
from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.elementwise import reduce
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.types import Graph, SymbolicExtent, Tensor
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.permutations import permuted
from tilewright.plan.schedule import Compute, Pack, Schedule, Storage
from tilewright.render.c.program import lower_program

RAGGED = {"m": 15, "n": 80, "k": 21, "l": 70}
RAGGED_TILES = {"m": 8, "n": 64, "k": 16, "l": 32}
EVEN = {"m": 48, "n": 256, "k": 128, "l": 192}
EVEN_TILES = {"m": 12, "n": 64, "k": 32, "l": 64}
ROOMY = CacheLevel(1 << 22)


def named(touches: Touches) -> list[Touch]:
    owners = [touches.buffers[owner] for owner in touches.owners]
    return list(zip(owners, touches.lines.tolist(), touches.writes.tolist(), strict=True))


def test_the_trace_of_a_fused_chain_is_the_literal_walk() -> None:
    touches = record(program(*fused(RAGGED, RAGGED_TILES)))
    walker = Walker(_starts(touches))
    c_row, d_panel = 32 + 16, 32 * KERNEL.columns
    fused_chain(walker, RAGGED, RAGGED_TILES, KERNEL, c_row, d_panel)
    assert named(touches) == walker.touches


def _starts(touches: Touches) -> dict[str, int]:
    """Every buffer starts at a line boundary, at the least line that is touched in it."""
    return {name: int(touches.lines[touches.owners == number].min()) * 64 for number, name in enumerate(touches.buffers)}


@pytest.mark.parametrize(("shape", "dtype"), [((1, 40_000), "float32"), ((20_000, 16), "float32"), ((40_000, 1), "float64")])
def test_a_long_sum_reads_every_line_once(shape: tuple[int, int], dtype: str) -> None:
    x = Tensor("x", shape, dtype)
    operator, total = reduce("sum", x, name="sum", result="total")
    graph = Graph("sum", (x, total), (operator,), ("x",), ("total",))
    touches = record(lower_program(compiler.plan(graph, Machine.named("x86-64-v4"))))
    lines = touches.lines[touches.owners == touches.buffers.index("x")]
    assert len(lines) == len(set(lines.tolist())) == prod(shape) * np.dtype(dtype).itemsize // 64


def test_misses_without_capacity_are_the_distinct_lines() -> None:
    work = program(*fused(RAGGED, RAGGED_TILES, middle="relu"))
    touches, level = record(work), simulate(work, [ROOMY]).levels[0]
    for number, name in enumerate(touches.buffers):
        mine = touches.owners == number
        assert level.of(name).misses == len(np.unique(touches.lines[mine])), name
        assert level.of(name).write_backs == len(np.unique(touches.lines[mine & touches.writes])), name
    for name, axes in (("A", "mk"), ("B", "kl"), ("D", "ln"), ("E", "mn")):
        assert level.of(name).misses == -(-prod(RAGGED[axis] for axis in axes) // 16)


def test_a_replay_counts_what_its_recorded_touches_count() -> None:
    work, levels = program(*fused(RAGGED, RAGGED_TILES)), [CacheLevel(2048, 64, 4), CacheLevel(16384, 64, 8)]
    touches = record(work)
    assert simulate(work, levels) == simulate_touches(touches, levels)
    assert counted(simulate(work, levels)) == slow_counts(touches, levels, flush=True)


def packed_ahead(order: str) -> tuple[Schedule, Storage]:
    """B and D packed whole before the paper's order mlkn (C kept) or mlnk (C recomputed)."""
    packs = [Pack(name, 1, panels(KERNEL.columns)) for name in ("scores", "out")]
    if order == "mlkn":
        body = (*nest("k", EVEN_TILES, Compute("scores")), *nest("n", EVEN_TILES, Compute("out")))
        return Schedule((*packs, *nest("ml", EVEN_TILES, *body))), Storage.KEEP
    body = (*nest("k", EVEN_TILES, Compute("scores")), Compute("out"))
    return Schedule((*packs, *nest("mln", EVEN_TILES, *body)), (("C", Storage.RECOMPUTE),)), Storage.RECOMPUTE


@pytest.mark.parametrize(("order", "size_kib"), [("mlkn", 40), ("mlkn", 96), ("mlnk", 32), ("mlnk", 48)])
def test_generated_code_moves_what_the_formulas_say_to_the_line(order: str, size_kib: int) -> None:
    """In a fully associative cache that holds the tiles (22 KiB) and what streams past them, but not the next larger blocks.

    Beyond `plan.model.movement`, write-allocation fetches each line of E before its first write, each packed copy is fetched and
    written back once, and C, which never leaves the cache, is fetched and written back once.
    """
    schedule, storage = packed_ahead(order)
    one = gemm_chain(EVEN)
    moved = schedule_movements(one, schedule)
    assert moved == schedule_movements(one, permuted(one, order, EVEN_TILES, storage=storage))
    level = simulate(program(one, schedule), [CacheLevel(size_kib << 10)]).levels[0]
    elements = {name: level.of(name).misses * 16 for name in ("A", "B", "D")}
    copies = {name: (level.of(f"packed_{name}").misses + level.of(f"packed_{name}").write_backs) * 16 for name in "BD"}
    sizes = {name: prod(EVEN[axis] for axis in axes) for name, axes in (("B", "kl"), ("D", "ln"), ("E", "mn"))}
    assert elements == {"A": moved["A"], "B": sizes["B"], "D": sizes["D"]}
    assert copies == {name: moved[name] + 2 * sizes[name] for name in "BD"}
    assert (level.of("E").misses + level.of("E").write_backs) * 16 == moved["E"] + sizes["E"]
    c_lines = EVEN_TILES["m"] * EVEN_TILES["l"] // 16
    assert (level.of("C").misses, level.of("C").write_backs) == (c_lines, c_lines)


@pytest.mark.parametrize(("order", "size_kib"), [("mlkn", 40), ("mlnk", 48)])
def test_constants_are_read_where_they_were_packed(order: str, size_kib: int) -> None:
    by_calls, _ = packed_ahead(order)
    packs = tuple(node for node in by_calls.body if isinstance(node, Pack))
    schedule = replace(by_calls, body=by_calls.body[len(packs) :], ahead=packs)
    one = gemm_chain(EVEN)
    constants = {name: np.zeros(tuple(EVEN[axis] for axis in axes), np.float32) for name, axes in (("B", "kl"), ("D", "ln"))}
    moved = schedule_movements(one, schedule)
    level = simulate(program(one, schedule, constants=constants), [CacheLevel(size_kib << 10)]).levels[0]
    assert {name: level.of(f"packed_{name}").misses * 16 for name in "BD"} == {name: moved[name] for name in "BD"}
    assert [level.of(f"packed_{name}").write_backs for name in "BD"] == [0, 0]
    assert level.of("A").misses * 16 == moved["A"]


@pytest.mark.parametrize("size_kib", [40, 96])
def test_online_rows_move_what_the_formulas_say_to_the_line(size_kib: int) -> None:
    """Correcting and dividing a tile of E costs no traffic: both happen next to its accumulation. States cost a line a block."""
    packs = [Pack(name, 1, panels(KERNEL.columns)) for name in ("scores", "out")]
    body = (*nest("k", EVEN_TILES, Compute("scores")), Compute("weights"), *nest("n", EVEN_TILES, Compute("out")))
    one, schedule = gemm_chain(EVEN, middle="softmax"), Schedule((*packs, *nest("ml", EVEN_TILES, *body)))
    moved = schedule_movements(one, schedule)
    level = simulate(program(one, schedule), [CacheLevel(size_kib << 10)]).levels[0]
    assert level.of("A").misses * 16 == moved["A"]
    assert (level.of("E").misses + level.of("E").write_backs) * 16 == moved["E"] + EVEN["m"] * EVEN["n"]
    blocks = prod(EVEN[axis] // EVEN_TILES[axis] for axis in "ml")
    assert all(level.of(f"running_P_{name}").misses <= blocks for name in ("row_max", "row_sum", "factor"))


def test_parts_leave_their_sums_and_states_to_the_merge() -> None:
    one, part = gemm_chain(EVEN, middle="softmax"), 48
    steps = (Compute("scores"), Compute("weights"), Compute("out"))
    schedule = Schedule((*nest("l", {"l": part}, *nest("m", EVEN_TILES, *steps)),), split="l")
    level = simulate(program(one, schedule, ("l", "m")), [CacheLevel(1 << 22)]).levels[0]
    parts, lines = EVEN["l"] // part, EVEN["m"] * EVEN["n"] // 16
    assert (level.of("partial_E").misses, level.of("partial_E").write_backs) == (parts * lines, parts * lines)
    assert level.of("partial_P_row_sum").misses == parts * EVEN["m"] // 16
    assert (level.of("E").misses, level.of("E").write_backs) == (lines, lines)


def test_operands_in_place_touch_a_line_for_every_broadcast_without_merging() -> None:
    work = program(*fused(EVEN, EVEN_TILES))
    merged, every = record(work), record(work, every_step=True)
    a_number = merged.buffers.index("A")
    steps = EVEN["m"] * EVEN["k"] * EVEN["l"] // KERNEL.columns
    assert (every.owners == a_number).sum() == steps
    assert (merged.owners == a_number).sum() == steps // 16
    level = CacheLevel(32 << 10, 64, 8)
    misses = [simulate(work, [level], every_step=flag).levels[0].total.misses for flag in (False, True)]
    assert misses[0] == pytest.approx(misses[1], rel=0.02)


def test_row_operators_touch_their_rows_once_per_pass() -> None:
    """Softmax: one pass for the maximum, one that reads and stores exponentials, one that reads and stores quotients."""
    touches = record(program(*fused(EVEN | {"l": 64}, EVEN_TILES | {"l": 64}, middle="softmax")))
    c = touches.lines[touches.owners == touches.buffers.index("C")]
    writes = touches.writes[touches.owners == touches.buffers.index("C")]
    row_lines = EVEN["m"] * 64 // 16
    products = row_lines * (EVEN["k"] // EVEN_TILES["k"])
    left_operand = row_lines * (EVEN["n"] // KERNEL.columns)
    assert writes.sum() == products + 2 * row_lines
    assert (~writes).sum() == products - row_lines + 3 * row_lines + left_operand
    assert len(np.unique(c)) == EVEN_TILES["m"] * 64 // 16


def test_gathers_and_broadcasts_are_traced() -> None:
    extents = {"m": 5, "n": 40}
    add = mapping("sum", apply("add", Load(0), Load(1)), ["x:mn", "bias:m"], "y:mn", extents)
    schedule = Schedule(nest("m", {"m": 2}, Compute("sum")))
    touches = record(program(chain("sum", [add]), schedule))
    assert len(np.unique(touches.lines[touches.owners == touches.buffers.index("bias")])) == 1
    assert (touches.owners == touches.buffers.index("y")).sum() == touches.writes.sum()


def test_nested_reduction_loops_touch_what_they_sum() -> None:
    """All lines of the image and the weights, and those of the result, whatever the tile keeps in registers."""
    builder = Builder("convolution")
    x, w = builder.input("x", (1, 4, 6, 200), "float32"), builder.input("w", (5, 4, 3, 3), "float32")
    y = builder.record(convolution, x, w, window_of((6, 200), (3, 3), where="Conv", pads=(1, 1, 1, 1)), 1, kind="conv")
    with forced("padded rows"):
        plan = compiler.plan(builder.graph((y.name,)), Machine.named("zen5"))
    assert any(part.calls.nested for each in plan.plans for part in each.operators)
    touches = record(lower_program(plan))
    lines = {name: len(np.unique(touches.lines[touches.owners == touches.buffers.index(name)])) for name in ("x", "w", y.name)}
    assert lines == {"x": 4 * 6 * 200 // 16, "w": -(-5 * 4 * 9 // 16), y.name: 5 * 6 * 200 // 16}


def test_symbolic_extents_take_their_values_from_the_call() -> None:
    """Of whole columns of tiles: tiles of fewer columns have more rows where extents are known."""
    extents, tiles = {**RAGGED, "n": 128, "l": 192}, {**RAGGED_TILES, "l": 64}
    symbols = {axis: SymbolicExtent(axis, 1, 4096, 64) for axis in extents}
    fixed = record(program(*fused(extents, tiles)))
    symbolic = record(program(*fused(symbols, tiles)), sizes=extents)
    assert symbolic.buffers == fixed.buffers
    assert np.array_equal(symbolic.owners, fixed.owners)
    with pytest.raises(TilewrightError, match="the size of l is not given"):
        record(program(*fused(symbols, tiles)), sizes={"m": 1, "n": 1, "k": 1})


def test_placement_moves_arguments_and_pads_their_rows() -> None:
    work = program(*fused(EVEN, EVEN_TILES))
    dense, padded = record(work), record(work, placement=Placement(alignment_bytes=64, gap_bytes=640, row_padding=16))
    a = padded.lines[padded.owners == padded.buffers.index("A")]
    assert a.min() == (64 + 640) // 64
    assert a.max() - a.min() == (EVEN["m"] - 1) * (EVEN["k"] + 16) // 16 + EVEN["k"] // 16 - 1
    assert len(dense.lines) == len(padded.lines)
    assert dense.lines.min() == 4096 // 64


@pytest.mark.parametrize("middle", ["", "relu", "softmax"])
def test_whole_rows_with_an_operator_between_move_what_the_formulas_say_to_the_line(middle: str) -> None:
    """Blocks of m, rows of C whole and worked on in place; B and D stream by once per block, too large to stay (384 of 208 KiB).

    Between blocks C is dead, which LRU does not know: it may be written back and fetched, never inside a block.
    """
    extents, tiles = {"m": 45, "n": 256, "k": 128, "l": 256}, {"m": 12, "n": 64, "l": 64}
    packs = [Pack(name, 1, panels(KERNEL.columns)) for name in ("scores", "out")]
    weights = [Compute("weights")] if middle else []
    block = (*nest("l", tiles, Compute("scores")), *weights, *nest("n", tiles, Compute("out")))
    one, schedule = gemm_chain(extents, middle=middle), Schedule((*packs, *nest("m", tiles, *block)))
    moved = schedule_movements(one, schedule)
    level = simulate(program(one, schedule), [CacheLevel(208 << 10)]).levels[0]
    sizes = {name: prod(extents[axis] for axis in axes) for name, axes in (("A", "mk"), ("B", "kl"), ("D", "ln"), ("E", "mn"))}
    assert moved == {"A": sizes["A"], "B": 4 * sizes["B"], "D": 4 * sizes["D"], "E": sizes["E"]}
    assert level.of("A").misses * 16 == moved["A"]
    copies = {name: level.of(f"packed_{name}").misses * 16 for name in "BD"}
    assert copies == {name: moved[name] + sizes[name] for name in "BD"}
    assert level.of("E").misses == level.of("E").write_backs == moved["E"] // 16
    assert level.of("C").misses == level.of("C").write_backs <= 4 * 12 * 256 // 16
