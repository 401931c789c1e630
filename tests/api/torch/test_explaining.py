"""What `explain` says of a model: graphs and breaks, parts, calls in eager mode with their place, weights, extents."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tilewright.torch

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


class Halves(nn.Module):
    """Two layers around a call that is not compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(4, 8)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return torch.relu(self.second(torch.linalg.qr(hidden)[0]))


def test_parts_and_what_stays_in_eager_mode_are_told() -> None:
    text = tilewright.torch.explain(Halves(), torch.randn(4, 16))
    head = text.splitlines()
    assert head[0].startswith("Halves: 1 graph, 0 graph breaks, ")
    assert head[0].endswith(" in 2 parts, 1 call in eager mode")
    assert "weights: 4 frozen" in text
    assert "part 2 of 2" in text
    (eager,) = (line for line in head if line.startswith("in eager mode"))
    assert "aten.linalg_qr.default" in eager
    assert "test_explaining.py" in eager
    assert "has no lowering" in eager


def test_breaks_of_torch_and_extents_are_told() -> None:
    def broken(x):
        y = torch.relu(x) + 1
        print(end="")
        torch._dynamo.graph_break()
        return torch.relu(y) + 1

    x = torch.randn(6, 4)
    torch._dynamo.mark_dynamic(x, 0)
    text = tilewright.torch.explain(broken, x)
    assert text.startswith("broken: 2 graphs, ")
    assert "graph break: " in text
    assert "extent: " in text
