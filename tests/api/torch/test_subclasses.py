"""Weights that are subclasses of tensors, as quantisers make them: what they are made of is frozen, and seen when it changes."""

from __future__ import annotations

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

from tilewright.api.torch.backend import backend
from tilewright.api.torch.graphs import watched

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(TwoTensor(torch.randn(8, 8), torch.randn(8, 8)), requires_grad=False)
        self.bias = torch.nn.Parameter(torch.randn(8), requires_grad=False)

    def forward(self, x):
        return torch.relu(x @ self.weight + self.bias)


def test_parts_of_subclasses_are_frozen_and_seen_when_they_change():
    layer, x, seen = Layer(), torch.randn(4, 8), []
    with torch.no_grad(), watched(lambda report, units: seen.extend(units)):
        compiled = torch.compile(layer, backend=lambda module, examples: backend(module, examples), fullgraph=True)

        def check():
            found, expected = compiled(x), layer(x)
            torch.testing.assert_close(found.a, expected.a)
            torch.testing.assert_close(found.b, expected.b)

        check()
        assert [len(unit.library.weights) for unit in seen] == [3]
        layer.weight.a.mul_(2)
        check()
        layer.weight.b = layer.weight.b + 1
        check()
        layer.weight.data = TwoTensor(torch.randn(8, 8), torch.randn(8, 8))
        check()
    assert len(seen) == 1
