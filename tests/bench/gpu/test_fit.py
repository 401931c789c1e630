from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.backends.triton_gpu.figures import Gpu, gpu_of
from tilewright.machine import Machine
from tilewright.tune.shapes import chain_shape
from tilewright_bench.gpu.fit import NAMES, Observation, fit, non_negative
from tilewright_bench.gpu.pricing import priced_kernels

GPU = gpu_of(Machine.named("h200"))
TRUE = replace(GPU, product_share=0.6, trip_cycles=220.0, load_cycles=700.0, launch_s=1e-6, fill_s=2.2e-6)


@dataclass(frozen=True)
class Sum:
    """A price by hand: the larger of products and waiting, and the start."""

    flops_s: float
    trips: int
    loads: int

    def seconds(self, gpu: Gpu) -> float:
        waits = (self.trips * gpu.trip_cycles + self.loads * gpu.load_cycles) / gpu.hertz
        return max(self.flops_s / gpu.product_share, waits) + gpu.launch_s + gpu.fill_s


def sums(kinds: str) -> list[Sum]:
    """Kernels of which "p" are bound by products, and "w" by waiting."""
    return [Sum(1e-5 * (n + 1), 1, 1) if kind == "p" else Sum(0.0, 10 + 3 * n, 5 + n * n) for n, kind in enumerate(kinds)]


@pytest.mark.parametrize("kinds", ["pwpwpw", "pppwww", "wwwwwp"])
def test_known_coefficients_are_recovered(kinds: str) -> None:
    found = fit([Observation((one,), one.seconds(TRUE)) for one in sums(kinds)], GPU)
    assert found is not None
    values = [one.fitted for one in found.coefficients]
    np.testing.assert_allclose(values, [0.6, 220.0, 700.0, 3.2e-6], rtol=1e-4)
    assert found.error_after < 1e-6 < found.error_before


def test_what_no_price_depends_on_keeps_its_estimate() -> None:
    found = fit([Observation((one,), one.seconds(TRUE)) for one in sums("pppp")], GPU)
    assert found is not None
    assert [one.name for one in found.coefficients if one.fitted is None] == ["trip_cycles", "load_cycles"]
    assert [one.name for one in found.coefficients] == list(NAMES)


def test_noise_moves_coefficients_little() -> None:
    random = np.random.default_rng(0)
    noisy = [Observation((one,), one.seconds(TRUE) * random.uniform(0.98, 1.02)) for one in sums("pw" * 20)]
    found = fit(noisy, GPU)
    assert found is not None
    assert found.error_after < 0.02
    assert found.coefficients[0].fitted == pytest.approx(0.6, rel=0.05)


def test_nothing_measured_is_no_fit() -> None:
    assert fit([], GPU) is None


def test_kernels_of_plans_are_priced_as_the_planner_did_and_recovered() -> None:
    """Of chains fused and apart, times that follow from other figures give these figures."""
    observations = []
    for name in ("G1", "G10", "G12"):
        specs = [tw.spec(shape, "float16") for shape in chain_shape(name).operands]
        for fuse in (None, False):
            plan = tw.jit(lambda q, k, v: tw.softmax(q @ k, axis=-1) @ v, target="h200", fuse=fuse).lower(*specs).model_plan
            kernels = priced_kernels(plan)
            predicted = [chain.price.seconds for chain in plan.plans]
            np.testing.assert_allclose([kernel.seconds(GPU) for kernel in kernels], predicted)
            observations.append(Observation(kernels, sum(kernel.seconds(TRUE) for kernel in kernels)))
    found = fit(observations, GPU)
    assert found is not None
    assert found.error_after < 1e-6
    assert found.coefficients[-1].fitted == pytest.approx(3.2e-6, rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_non_negative_least_squares_fulfils_its_conditions(seed: int) -> None:
    """x >= 0, the gradient is 0 where x is not, and not below 0 where it is (Karush, Kuhn and Tucker)."""
    random = np.random.default_rng(seed)
    matrix, target = random.standard_normal((12, 4)), random.standard_normal(12)
    found = non_negative(matrix, target)
    gradient = matrix.T @ (matrix @ found - target)
    assert (found >= 0).all()
    np.testing.assert_allclose(gradient[found > 0], 0, atol=1e-9)
    assert (gradient[found == 0] >= -1e-9).all()
