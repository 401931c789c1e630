"""Reductions and scans of ATen: types, special values, no elements, extents at run time."""

from __future__ import annotations

import pytest
import torch

from tests.support.torch.equal import check

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

NAN = float("nan")


@pytest.mark.parametrize("name", ["max", "min", "cummax", "cummin"])
def test_the_first_nan_is_the_extreme_and_ties_are_as_torch_says(name):
    x = torch.tensor([[1.0, 3, 3, -1, 3], [NAN, 1, NAN, 9, 2], [0, 0, 0, 0, 0], [-torch.inf] * 5])
    check(lambda x: tuple(getattr(torch, name)(x, dim=1)), x)


def test_truth_values_of_bytes_stay_bytes():
    x = torch.tensor([[0, 2], [0, 0]], dtype=torch.uint8)
    check(lambda x: (x.any(1), x.all(1), x.to(torch.bool).any(), torch.count_nonzero(x, 0)), x)


def test_nothing_has_a_sum_and_no_variance():
    x = torch.empty(0, 3)
    check(lambda x: (x.sum(0), x.mean(0), x.prod(0), x.std(0), x.any(0), x.all(0), x.logsumexp(0)), x)


def test_the_variance_of_one_element_is_not_a_number():
    check(lambda x: (x.var(1), x.var(1, correction=0), x.std(0, correction=1.5), x.sum().var()), torch.randn(3, 1))


@pytest.mark.parametrize("power", [0, 1, 2, 3, 0.5, -1, torch.inf, -torch.inf])
def test_vector_norms(power):
    check(lambda *given: tuple(torch.linalg.vector_norm(x, power, 1) for x in given), torch.randn(4, 5), torch.randn(4, 1))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_long_scans_take_steps(name):
    check(lambda x: getattr(torch, name)(x, 1), torch.randn(2, 300))


def test_scans_along_extents_at_run_time():
    check(lambda x: x.cumsum(1), torch.randint(0, 5, (3, 40)), mode="symbolic")
