"""Losses, distances and orders of ATen."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.support.torch.equal import check
from tests.support.torch.tracing import evaluated, recorded, traced
from tilewright.errors import PositionError

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

aten = torch.ops.aten
NAN = math.nan


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(reduction):
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    check(lambda x, y: functional.smooth_l1_loss(x, y, reduction, beta=0.5), x, y)
    check(lambda x, y: functional.huber_loss(x, y, reduction, delta=0.7), x, y)
    check(lambda x, y: functional.mse_loss(x, y, reduction=reduction), x.bfloat16(), y.bfloat16())
    check(lambda x, y: functional.binary_cross_entropy(x, y, reduction=reduction), torch.tensor([0.0, 1, 0.5]), torch.rand(3))


def test_targets_that_are_ignored_have_no_weight():
    x, target, weight = torch.randn(3, 5), torch.tensor([1, -100, 4]), torch.rand(5)
    check(lambda x, t, w: aten.nll_loss_forward(x, t, w, 1, -100), x, target, weight)
    check(lambda x, t: aten.nll_loss_forward(x, t, None, 0, 4)[0], x, target.abs() % 5)


@pytest.mark.parametrize("wrong", [-1, 5])
def test_targets_that_are_no_classes_are_errors(wrong):
    x, target = torch.randn(3, 5), torch.tensor([1, 2, 3])
    module = traced(lambda x, t: aten.nll_loss_forward(x, t, None, 1, -100)[0], x, target)
    with pytest.raises(PositionError):
        evaluated(recorded(module), module, (x, torch.tensor([1, 2, wrong])))


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 3.0, math.inf])
def test_distances_of_all_pairs(power):
    check(lambda x, y: aten._cdist_forward(x, y, power, None), torch.randn(2, 3, 4), torch.randn(2, 5, 4))


@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_keep_their_order_and_nan_is_largest(descending):
    x = torch.tensor([[3.0, NAN, 1, 3, -math.inf, NAN, 0, -0.0, 3], [0] * 9])
    check(lambda x: torch.sort(x, stable=True, descending=descending), x)


def test_the_largest_experts():
    check(lambda x: torch.topk(x, 3), torch.randn(4, 16))


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_numbers_and_nan(name):
    x = torch.tensor([[3.0, NAN, 1, 4, NAN], [5.0, 2, 1, 4, 0], [NAN] * 5, [NAN, 1, 2, 3, 4]])
    check(lambda x: (*getattr(torch, name)(x, 1, keepdim=True), getattr(torch, name)(x)), x)
