"""Sums and means of bags of equally many rows, with rows and weights left out; what else bags may be stays ATen's."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import embedding_bag

from tests.support.torch.equal import check
from tests.support.torch.tracing import functional, recorded

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

TABLE, IDS = torch.randn(7, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([[0, 3, 6], [3, 3, 3], [5, 3, 1]])


@pytest.mark.parametrize("padding", [None, 3, -4])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_a_matrix(mode, padding):
    check(lambda ids, table: embedding_bag(ids, table, mode=mode, padding_idx=padding), IDS, TABLE)


def test_weights_of_rows():
    check(lambda ids, table, w: embedding_bag(ids, table, mode="sum", per_sample_weights=w), IDS, TABLE, torch.randn(3, 3))


@pytest.mark.parametrize("offsets", [[0, 3, 6], [0, 4, 5]])
def test_offsets_that_calls_give_are_left_to_torch(offsets):
    given = IDS.flatten(), TABLE, torch.tensor(offsets)
    module = functional(lambda ids, table, begins: embedding_bag(ids, table, begins), given)
    assert any("known at run time" in reason for reason in recorded(module).refused.values())
