"""Plain sums in parts, and products with one column: against NumPy, ragged shapes, any number of threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tilewright as tw
from tests.codegen.test_online_rows import KERNEL, MACHINE, check_all, hand_plan
from tests.plan.cases import chain_of, contraction
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.schedule import Loop, Schedule, fused_schedule
from tilewright.plan.space.executability import why_not_executable

TWO_CORES = "x86-64-v3"
"""A machine of more than one core that most can stand in for."""


def product(x, y):
    return tw.einsum("mk,kn->mn", x, y)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("shape", [(1, 1, 9), (7, 5, 20), (66, 17, 33), (130, 3, 40)])
def test_parts_of_a_sum_are_added_under_every_prefix(shape: Sequence[int]) -> None:
    extents = dict(zip("mnk", shape, strict=True))
    plans = []
    for number, (outer_loops, part) in enumerate((p, q) for p in ("", "m", "n", "mn", "k", "mk", "km") for q in (3, 8)):
        chain = chain_of([contraction(f"C{number}", "mk,kn->mn", "AB", extents)])
        inner = fused_schedule(chain, outer_loops, {}, {"m": 4, "n": 16, "k": 2})
        schedule = Schedule((Loop("k", part, inner.body),), inner.storage, "k")
        assert not why_not_executable(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    check_all(plans)


@pytest.mark.needs("avx2", "fma")
def test_a_long_sum_has_the_same_bits_with_any_number_of_threads() -> None:
    """Of a plan for several cores; on one core a sum is not split."""
    a, b = random(5, 400_003), random(400_003, 3)
    lowered = [tw.jit(product, target=TWO_CORES, threads=threads).lower(tw.spec(a.shape), tw.spec(b.shape)) for threads in (1, 2)]
    assert all(one.plan.schedule.split == "k" for one in lowered)
    one, two = (each.compile() for each in lowered)
    result = one(a, b)
    np.testing.assert_array_equal(result, two(a, b))
    np.testing.assert_allclose(result, a.astype(np.float64) @ b, atol=1e-2)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("shape", [(1, 1), (15, 16), (17, 67), (40, 129), (33, 1), (3, 4099)])
def test_one_column_in_any_layout(shape: tuple[int, int]) -> None:
    a, x = random(*shape), random(shape[1], 1)
    expected = a.astype(np.float64) @ x
    strided = np.asfortranarray(a), np.repeat(x, 2, axis=1)[:, :1]
    for left, right in ((a, x), (strided[0], x), (a, strided[1])):
        np.testing.assert_allclose(tw.jit(product)(left, right), expected, atol=1e-4 * shape[1] ** 0.5)
