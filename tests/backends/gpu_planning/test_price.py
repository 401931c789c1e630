"""The price of all candidates against a slow oracle, and what it must do whatever the figures are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tests.oracles import gpu_price
from tests.support.gpu_chains import PROGRAMS, chain_of, transposed
from tilewright.backends.triton_gpu.figures import gpu_of
from tilewright.backends.triton_gpu.planner import GpuPlanner, Kernel, chosen_of, kernels_of
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.types import TermKind

HALF = "float16"


def with_limits(machine: Machine, **figures: float) -> Machine:
    """A machine with other limits."""
    assert machine.accelerator is not None
    limits = tuple((name, figures.get(name, figure)) for name, figure in machine.accelerator.limits)
    return replace(machine, accelerator=replace(machine.accelerator, limits=limits))


def gemm(b: int, m: int, n: int, k: int) -> Chain:
    return chain_of(lambda x, w: x @ w, (b, m, k), (b, k, n), dtype=HALF)


def two(b: int, m: int, n: int, k: int, between: int) -> Chain:
    return chain_of(lambda x, w, v: (x @ w) @ v, (b, m, k), (b, k, between), (b, between, n), dtype=HALF)


@pytest.mark.parametrize("target", ["a100", "h100"])
@pytest.mark.parametrize("sizes", [(2, 512, 64, 256), (1, 1024, 48, 80)])
def test_every_candidate_of_a_gemm_costs_what_the_oracle_says(target: str, sizes: tuple[int, int, int, int]) -> None:
    machine = Machine.named(target)
    gpu, kernels = gpu_of(machine), kernels_of(gemm(*sizes), machine)
    least = []
    for kernel in kernels:
        (one,) = kernel.operands
        for place, found in enumerate(kernel.prices.seconds):
            tiles = kernel.tiles(place)
            sides = tiles[one.product.row], tiles[one.product.column], tiles[one.product.depth]
            b, m, n, k = sizes
            own = sizes if kernel.work.extents[one.product.row] == m else (b, n, m, k)
            block = gpu_price.gemm(gpu, own, sides, int(kernel.candidates.warps[place]), int(kernel.candidates.stages[place]))
            assert found == pytest.approx(gpu_price.seconds(gpu, block), rel=1e-9)
            least.append(found)
    assert chosen_of(kernels)[0].seconds == min(least)


@pytest.mark.parametrize("target", ["a100", "h100"])
@pytest.mark.parametrize("sizes", [(2, 256, 64, 32, 96), (4, 64, 32, 80, 64)])
def test_every_candidate_of_two_products_costs_what_the_oracle_says(target: str, sizes: tuple[int, int, int, int, int]) -> None:
    machine = Machine.named(target)
    gpu, kernels = gpu_of(machine), kernels_of(two(*sizes), machine)
    least = []
    for kernel in kernels:
        roles, depth = kernel.skeleton.roles, kernel.operands[0].product.depth
        for place in range(0, len(kernel.prices.seconds), 7):
            tiles = kernel.tiles(place)
            sides = tiles[roles.row], tiles[roles.fused], tiles[roles.column], tiles[depth]
            warps, stages = int(kernel.candidates.warps[place]), int(kernel.candidates.stages[place])
            block = gpu_price.two_products(gpu, sizes, sides, warps, stages, whole=kernel.skeleton.is_whole)
            assert kernel.prices.seconds[place] == pytest.approx(gpu_price.seconds(gpu, block), rel=1e-9)
        least.append(float(np.min(kernel.prices.seconds)))
    assert chosen_of(kernels)[0].seconds == min(least)


def of_long_depth(load_cycles: float) -> Kernel:
    machine = with_limits(Machine.named("a100"), load_cycles=load_cycles, trip_cycles=20)
    return next(kernel for kernel in kernels_of(gemm(1, 256, 256, 4096), machine) if not kernel.skeleton.is_whole)


def test_stages_hide_loads_up_to_their_number() -> None:
    kernel = of_long_depth(1200)
    held, found = kernel.resources.blocks_of_core, kernel.candidates
    same = [(*kernel.tiles(place).values(), found.warps[place], held[place]) for place in range(len(held))]
    waits = {(one, int(stages)): float(wait) for one, stages, wait in zip(same, found.stages, kernel.prices.waits, strict=True)}
    pairs = [(wait, waits[one, stages - 1], stages) for (one, stages), wait in waits.items() if (one, stages - 1) in waits]
    assert len(pairs) > 100
    for wait, fewer, stages in pairs:
        assert fewer * (stages - 2) / (stages - 1) <= wait * 1.000001 < fewer * 1.000001


def test_long_loads_want_deep_pipelines() -> None:
    stages = {}
    for load_cycles in (10, 2000):
        machine = with_limits(Machine.named("a100"), load_cycles=load_cycles, trip_cycles=20)
        plan = GpuPlanner().plan(gemm(1, 256, 256, 4096), machine)
        stages[load_cycles] = dict(plan.operators[0].leaf.numbers)["stages"]
    assert stages[10] == 2
    assert stages[2000] == 5


def test_terms_add_up_to_the_price_of_the_candidate() -> None:
    for name, dtype in (("attention", HALF), ("gemm, bias, relu", HALF), ("softmax", "float32"), ("1x1, convolution", HALF)):
        chain = chain_of(*(lambda one: (one[0], *one[1]))(PROGRAMS[name]), dtype=dtype)
        plan = GpuPlanner().plan(chain, Machine.named("h100"))
        best = chosen_of(kernels_of(chain, Machine.named("h100")))[0]
        assert plan.price.seconds == pytest.approx(best.seconds)
        assert plan.price.on(132) == plan.price.seconds
        assert {TermKind.ROUNDS, TermKind.FILL, TermKind.LAUNCH} <= {term.kind for term in plan.price.terms}
        assert all(lost.figure >= lost.winner_figure == pytest.approx(plan.price.seconds) for lost in plan.rejected)


def test_floor_is_below_the_price() -> None:
    for target in ("a100", "h100", "h200"):
        plan = GpuPlanner().plan(gemm(1, 4096, 4096, 4096), Machine.named(target))
        assert 0 < plan.floor.compute_s < plan.price.seconds
        assert plan.floor.flops == 2 * 4096**3


def test_scores_cost_functions() -> None:
    sizes = (8, 512, 64), (8, 512, 64), (8, 512, 64)
    without = chain_of(lambda q, k, v: (q @ transposed(k)) @ v, *sizes, dtype=HALF)
    attention = chain_of(PROGRAMS["attention"][0], *sizes, dtype=HALF)
    plans = [GpuPlanner().plan(chain, Machine.named("a100")) for chain in (without, attention)]
    assert plans[0].price.seconds < plans[1].price.seconds
    assert any(term.kind is TermKind.FUNCTIONS for term in plans[1].price.terms)


def test_causal_masks_leave_out_half_of_the_work() -> None:
    shapes = (2, 2048, 64), (2, 2048, 64), (2, 2048, 64)

    def causal(q: object, k: object, v: object) -> object:
        at = tw.arange(2048)
        return tw.softmax(tw.where(at[:, None] >= at[None, :], q @ transposed(k) * 0.125, -np.inf), axis=-1) @ v

    whole, masked = (chain_of(f, *shapes, dtype=HALF) for f in (PROGRAMS["attention"][0], causal))
    seconds = [GpuPlanner().plan(chain, Machine.named("a100")).price.seconds for chain in (whole, masked)]
    assert 0.5 < seconds[1] / seconds[0] < 0.75
