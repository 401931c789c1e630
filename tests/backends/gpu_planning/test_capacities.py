"""Capacities, types and units: each can be the one that binds, and what nothing computes is refused with a typed reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tests.support.gpu_chains import PROGRAMS, chain_of, computed, expected, graph_of, inputs_of, transposed
from tilewright.backends.triton_gpu.planner import GpuPlanner
from tilewright.errors import TilewrightError
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Access, Axis, Chain, Operator, Tensor
from tilewright.machine import Machine
from tilewright.machine.accelerator import Scope
from tilewright.plan.chains import make_chain
from tilewright.plan.reasons import Barrier, CannotFuse, NoMicroKernel, NotExecutable, Unplannable
from tilewright.plan.types import Plan

A100 = Machine.named("a100")
HALF = "float16"


def with_limit(name: str, figure: float) -> Machine:
    assert A100.accelerator is not None
    limits = tuple((known, figure if known == name else value) for known, value in A100.accelerator.limits)
    return replace(A100, accelerator=replace(A100.accelerator, limits=limits))


def with_shared(of_core: int, of_block: int) -> Machine:
    assert A100.accelerator is not None
    sizes = {Scope.CORE: of_core, Scope.BLOCK: of_block}
    spaces = [replace(s, size_bytes=sizes[s.scope]) if s.name == "shared" else s for s in A100.accelerator.spaces]
    return replace(A100, accelerator=replace(A100.accelerator, spaces=tuple(spaces)))


def without_units(*operands: str) -> Machine:
    assert A100.accelerator is not None
    units = tuple(unit for unit in A100.accelerator.units if unit.operands not in operands)
    return replace(A100, accelerator=replace(A100.accelerator, units=units))


def attention() -> Chain:
    return chain_of(PROGRAMS["attention"][0], (8, 1024, 64), (8, 1024, 64), (8, 1024, 64), dtype=HALF)


def used(plan: Plan) -> dict[str, int]:
    return {level.level: level.used_bytes for level in plan.levels}


def warps(plan: Plan) -> int:
    assert plan.operators[0].leaf is not None
    return int(dict(plan.operators[0].leaf.numbers)["warps"])


@pytest.mark.parametrize("kilobytes", [100, 24, 12])
def test_shared_memory_of_a_block_binds(kilobytes: int) -> None:
    plan = GpuPlanner().plan(attention(), with_shared(164 << 10, kilobytes << 10))
    assert used(plan)["shared"] <= kilobytes << 10


def test_shared_memory_of_a_core_costs_blocks() -> None:
    ample, scarce = (GpuPlanner().plan(attention(), with_shared(size << 10, size << 10)) for size in (164, 28))
    assert used(scarce)["shared"] <= 28 << 10
    assert scarce.price.seconds > ample.price.seconds


@pytest.mark.parametrize(
    ("limit", "figure", "of_plan"),
    [
        ("registers_of_thread", 160, lambda plan: used(plan)["registers"] // (4 * 32 * warps(plan)) + 70),
        ("registers_of_core", 8192, lambda plan: used(plan)["registers"] // 4),
        ("threads_of_block", 64, lambda plan: 32 * warps(plan)),
        ("threads_of_core", 64, lambda plan: 32 * warps(plan)),
    ],
)
def test_limits_bind(limit: str, figure: float, of_plan: Callable[[Plan], int]) -> None:
    usual, bound = GpuPlanner().plan(attention(), A100), GpuPlanner().plan(attention(), with_limit(limit, figure))
    assert of_plan(bound) <= figure
    assert bound.price.seconds >= usual.price.seconds


def test_blocks_of_a_core_bind() -> None:
    usual, bound = (GpuPlanner().plan(attention(), with_limit("blocks_of_core", blocks)) for blocks in (32, 1))
    assert bound.price.seconds > usual.price.seconds


def test_nothing_fits() -> None:
    with pytest.raises(Unplannable, match="is no kernel") as found:
        GpuPlanner().plan(attention(), with_shared(164 << 10, 512))
    assert isinstance(found.value.reason, NotExecutable)


@pytest.mark.parametrize(("dtype", "least"), [("float16", 16), ("bfloat16", 16), ("int8", 32), ("float32", 16)])
def test_depth_of_tiles_by_type(dtype: str, least: int) -> None:
    chain = chain_of(lambda a, b: a @ b, (100, 300), (300, 90), dtype=dtype)
    plan = GpuPlanner(is_tf32=True).plan(chain, A100)
    assert plan.operators[0].leaf is not None
    depth = dict(plan.operators[0].leaf.axes)["depth"]
    assert dict(plan.levels[0].tiles)[depth] >= least


def test_types_have_rates_of_their_own() -> None:
    chains = {dtype: chain_of(lambda a, b: a @ b, (2048, 2048), (2048, 2048), dtype=dtype) for dtype in (HALF, "float32", "int8")}
    seconds = {dtype: GpuPlanner().plan(chain, A100).price.seconds for dtype, chain in chains.items()}
    tf32 = GpuPlanner(is_tf32=True).plan(chains["float32"], A100)
    assert seconds["int8"] < seconds[HALF] < tf32.price.seconds < seconds["float32"]
    assert tf32.operators[0].leaf is not None
    assert dict(tf32.operators[0].leaf.numbers)["tf32"] == 1


def test_int8_sums_exactly() -> None:
    graph = graph_of(lambda a, b: a @ b, (37, 300), (300, 50), dtype="int8")
    chain = make_chain(graph, graph.operators)
    plan = GpuPlanner().plan(chain, A100)
    inputs = inputs_of(graph, chain)
    np.testing.assert_array_equal(computed(plan, inputs), expected(graph, inputs))


def test_without_units_ordinary_arithmetic_multiplies() -> None:
    chain = chain_of(lambda a, b: a @ b, (512, 512), (512, 512), dtype=HALF)
    with_unit, without = (GpuPlanner().plan(chain, machine) for machine in (A100, without_units(HALF)))
    assert without.price.seconds > with_unit.price.seconds


def test_what_no_arithmetic_multiplies_is_refused() -> None:
    chain = chain_of(lambda a, b: a @ b, (64, 64), (64, 64), dtype="int8")
    with pytest.raises(Unplannable, match="no unit of products") as found:
        GpuPlanner().plan(chain, without_units("int8"))
    assert isinstance(found.value.reason, NoMicroKernel)


def test_lookups_are_refused() -> None:
    rows, columns = axis("i"), axis("j")
    reads = Access("at", (rows,)), Access("table", (constant(0), columns), lookups=((0, 0),))
    axes = Axis("i", 5), Axis("j", 4)
    taken = Operator("taken", "gather", axes, reads, Access("out", (rows, columns)), Load(1))
    tensors = Tensor("at", (5,), "int64"), Tensor("table", (9, 4)), Tensor("out", (5, 4))
    with pytest.raises(Unplannable) as found:
        GpuPlanner().plan(Chain("taken", tensors, (taken,)), A100)
    assert found.value.reason == CannotFuse(Barrier.DATA_POSITIONS, ("taken",))


def test_three_products_are_two_kernels() -> None:
    chain = chain_of(lambda a, b, c, d: ((a @ b) @ c) @ d, (64, 32), (32, 48), (48, 16), (16, 80), dtype=HALF)
    with pytest.raises(Unplannable, match="3 products"):
        GpuPlanner().plan(chain, A100)


@pytest.mark.parametrize("extents", [(1 << 20, 1 << 20, 1 << 20), (1, 1 << 30, 64), (1 << 31, 16, 16)])
def test_huge_extents_have_prices(extents: tuple[int, int, int]) -> None:
    m, n, k = extents
    plan = GpuPlanner().plan(chain_of(lambda a, b: a @ b, (m, k), (k, n), dtype=HALF), A100)
    assert np.isfinite(plan.price.seconds)
    least = 2 * (m * k + k * n + m * n)
    assert sum(moved.size_bytes for moved in plan.movements) >= least == plan.floor.compulsory_bytes


def test_machines_without_accelerators_are_no_gpus() -> None:
    with pytest.raises(TilewrightError, match="is no GPU"):
        GpuPlanner().plan(attention(), Machine.named("zen4"))


def test_every_program_on_every_target() -> None:
    for function, shapes in PROGRAMS.values():
        for target in ("a100", "h100", "h200"):
            plan = GpuPlanner().plan(chain_of(function, *shapes, dtype=HALF), Machine.named(target))
            assert all(level.used_bytes <= level.capacity_bytes for level in plan.levels)


def test_transposed_operands_have_the_same_roles() -> None:
    shapes = (2, 64, 32), (2, 96, 32), (2, 96, 48)
    plain = chain_of(lambda q, k, v: tw.softmax(q @ transposed(k), axis=-1) @ v, *shapes, dtype=HALF)
    turned = chain_of(
        lambda q, k, v: transposed(transposed(v) @ transposed(tw.softmax(q @ transposed(k), axis=-1))), *shapes, dtype=HALF
    )
    prices = [GpuPlanner().plan(chain, A100).price.seconds for chain in (plain, turned)]
    assert prices[0] == pytest.approx(prices[1])
