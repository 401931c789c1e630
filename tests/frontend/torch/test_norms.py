"""Norms of ATen: statistics, missing and wider weights, types."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from tests.support.torch.equal import check, check_call

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

aten = torch.ops.aten


def weights(count, dtype=torch.float32):
    return torch.randn(count, dtype=dtype), torch.randn(count, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_layer_norm_and_its_statistics(dtype):
    check(lambda x, w, b: aten.native_layer_norm(x, [8], w, b, 1e-5), torch.randn(3, 8, dtype=dtype), *weights(8, dtype))


def test_layer_norm_without_weights_or_in_wider_ones():
    x, (w, b) = torch.randn(3, 8), weights(8)
    check(lambda x, w, b: (functional.layer_norm(x, [8]), functional.layer_norm(x, [8], None, b)), x, w, b)
    check(lambda x, w, b: functional.layer_norm(x, [8], w, b), x.bfloat16(), w, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_rms_norm_has_the_epsilon_of_the_type_that_it_is_computed_in(dtype):
    x = torch.randn(3, 8, dtype=dtype) / 16
    check_call(aten.rms_norm.default, x, normalized_shape=[8], weight=None, eps=None)
    check_call(aten.rms_norm.default, x, normalized_shape=[8], weight=None, eps=1e-4)


def test_group_norm_and_its_statistics():
    x, (w, b) = torch.randn(2, 6, 4), weights(6)
    check(lambda x, w, b: aten.native_group_norm(x, w, b, 2, 6, 4, 3, 1e-5), x, w, b)
    check(lambda x, w, b: functional.group_norm(x, 2, None, b), x, w, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_batch_norm(dtype):
    x, (w, b), (mean, var) = torch.randn(2, 3, 4, dtype=dtype), weights(3), weights(3)
    inference = aten._native_batch_norm_legit_no_training
    check(lambda x, w, b, m, v: inference(x, w, b, m, v, 0.1, 1e-5)[0], x, w, b, mean, var.abs())
    check(lambda x, m, v: inference(x, None, None, m, v, 0.1, 1e-5)[0], x, mean, var.abs())


def test_batch_norm_in_training_moves_its_statistics():
    x, (w, b), (mean, var) = torch.randn(2, 3, 4), weights(3), weights(3)
    training = aten._native_batch_norm_legit_functional
    check(lambda x, w, b, m, v: training(x, w, b, m, v, True, 0.1, 1e-5), x, w, b, mean, var.abs())


def test_instance_norm_is_a_group_norm_of_single_channels():
    check(lambda x: aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0], torch.randn(1, 6, 4, 4))


@pytest.mark.parametrize("dim", [0, 2])
def test_weight_norm_has_a_norm_for_each_index_of_a_dimension(dim):
    v = torch.randn(4, 3, 2)
    g = torch.rand([extent if d == dim else 1 for d, extent in enumerate(v.shape)])
    check(lambda v, g: aten._weight_norm_interface(v, g, dim), v, g)
