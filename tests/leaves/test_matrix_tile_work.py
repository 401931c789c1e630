"""Work of micro kernels: what operands cost that begin anywhere in a cache line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from tests.plan.cases import contraction
from tilewright.arrays import Count
from tilewright.coefficients import DEFAULT
from tilewright.graph.contraction_roles import ContractionRoles, contraction_roles
from tilewright.graph.expressions.index import axis
from tilewright.graph.types import Access, Operator
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.leaves.declaration import CostProblem, KernelWork
from tilewright.leaves.matrix_tiles.work import GATHER_CYCLES, STORE_CYCLES, crossing_share
from tilewright.leaves.registry import kernel_work
from tilewright.machine import Machine

Sizes = Mapping[str, Count]
MACHINE = Machine.named("x86-64-v4")


def work_of(
    operator: Operator, kernel: MicroKernel, machine: Machine, sizes: Sizes, tiles: Sizes, roles: ContractionRoles | None = None
) -> KernelWork:
    binding = kernel.binding(roles or contraction_roles(operator))
    return kernel_work(binding, CostProblem(operator, machine, DEFAULT, sizes, tiles, kernel.lanes, kernel=kernel))


def test_vectors_cross_lines_where_windows_overlap_and_where_heads_lie_side_by_side_they_do_not() -> None:
    machine, kernel = Machine.named("x86-64-v4"), registry.for_machine(Machine.named("x86-64-v4"))[0]
    sizes = {"n": 24, "h": 4, "k": 3}
    heads, window = Access("x", (axis("h") * 24 + axis("n"),)), Access("x", (axis("n") + axis("k"),))
    assert crossing_share(heads, "n", kernel, machine, sizes) == 0
    assert crossing_share(window, "n", kernel, machine, sizes) == kernel.vector_bits / 512
    assert crossing_share(window, None, kernel, machine, sizes) == 0


@pytest.mark.parametrize(("rows", "vectors", "slower"), [(6, 4, 1.0), (28, 1, 30 / 29)])
def test_vectors_on_two_lines_cost_time_where_loads_do(rows: int, vectors: int, slower: float) -> None:
    kernel = next(kernel for kernel in registry.for_machine(MACHINE) if (kernel.rows, kernel.columns) == (rows, 16 * vectors))
    sizes = {"m": rows, "n": 16 * vectors, "k": 64}
    operator = contraction("C", "mk,kn->mn", "AB", sizes)
    window = Access("B", (axis("k") * 3 + axis("n"),))
    of_windows = replace(operator, reads=(operator.reads[0], window))
    roles = contraction_roles(operator)
    plain, windows = (work_of(one, kernel, MACHINE, sizes, sizes, roles) for one in (operator, of_windows))
    assert windows.seconds / plain.seconds == pytest.approx(slower)


@pytest.mark.parametrize("types", [("int16", "int16"), ("uint8", "int8"), ("float32", "float32")])
def test_steps_that_lie_apart_cost_time_where_a_kernel_takes_several_at_once(types: tuple[str, str]) -> None:
    machine = Machine.named("x86-64-v3")
    accumulator = "float32" if types[0] == "float32" else "int32"
    kernel = registry.for_machine(machine, element_types=(*types, accumulator))[0]
    sizes = {"m": 2 * kernel.rows, "n": kernel.columns, "k": 64}
    rows, planes = (contraction("C", f"{left},kn->mn", "AB", sizes) for left in ("mk", "km"))
    works = (work_of(one, kernel, machine, sizes, sizes) for one in (rows, planes))
    side_by_side, apart = (work.seconds for work in works)
    cycles = GATHER_CYCLES * 2 * kernel.rows * 64 if kernel.interleave > 1 else 0.0
    assert apart - side_by_side == pytest.approx(cycles / machine.frequency_hz)


def test_a_call_for_each_point_of_other_sums_takes_tiles_up_again() -> None:
    kernel = registry.for_machine(MACHINE)[0]
    sizes = {"m": 2 * kernel.rows, "n": kernel.columns, "q": 3, "k": 4}
    operator = contraction("C", "mqk,qkn->mn", "AB", sizes)
    problem = CostProblem(operator, MACHINE, DEFAULT, sizes, sizes, kernel.lanes, kernel=kernel)
    binding = kernel.binding(contraction_roles(operator))
    apart, at_once = (kernel_work(binding, replace(problem, sums_at_once=said)) for said in (False, True))
    assert (apart.calls, at_once.calls) == (6, 2)
    again = 4 * kernel.rows * (kernel.columns // kernel.lanes) * (STORE_CYCLES + 1 / MACHINE.loads_per_cycle)
    assert apart.seconds - at_once.seconds == pytest.approx(again / MACHINE.frequency_hz)


@pytest.mark.parametrize("kernel", registry.for_machine(MACHINE), ids=lambda kernel: kernel.name)
def test_arrays_of_tiles_have_the_work_of_every_tile(kernel: MicroKernel) -> None:
    sizes = {"m": 100, "n": 70, "k": 90, "b": 3}
    operator = contraction("C", "bmk,bkn->bmn", "AB", sizes)
    rows, depths = np.array([[6], [48], [100]]), np.array([[16, 64, 90]])
    family = work_of(operator, kernel, MACHINE, sizes, {**sizes, "m": rows, "k": depths})
    for place in np.ndindex(3, 3):
        tiles = {**sizes, "m": int(rows[place[0], 0]), "k": int(depths[0, place[1]])}
        one = work_of(operator, kernel, MACHINE, sizes, tiles)
        assert (one.seconds, one.calls) == (
            np.broadcast_to(family.seconds, (3, 3))[place],
            np.broadcast_to(family.calls, (3, 3))[place],
        )


def test_kernels_with_lanes_along_the_depth_are_no_faster_than_their_share_of_the_peak() -> None:
    kernel = next(kernel for kernel in registry.for_machine(MACHINE) if kernel.right_by_columns)
    sizes = {"m": 8 * kernel.rows, "n": 8 * kernel.columns, "k": 1024}
    work = work_of(contraction("C", "mk,nk->mn", "AB", sizes), kernel, MACHINE, sizes, sizes)
    at_share_s = 2 * prod(sizes.values()) / kernel.attainable(MACHINE)
    assert at_share_s < work.seconds < 1.2 * at_share_s


def test_equal_kernels_and_machines_have_equal_hashes() -> None:
    kernel = registry.for_machine(MACHINE)[0]
    assert (hash(kernel), hash(MACHINE)) == (hash(replace(kernel)), hash(Machine.named("x86-64-v4")))
    assert kernel != replace(kernel, rows=kernel.rows + 1), "hashes may be equal where kernels are not"
