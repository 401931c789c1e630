"""Bytes of weights: what is packed takes little more than the weights, and what kernels read as it is stays torch's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import nn

from tilewright.api.torch.graphs import watched
from tilewright.api.torch.units import Unit
from tilewright.torch import backend

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


def library_of(model: nn.Module, x: torch.Tensor):
    """The library of a model that has been called once."""
    found: list[Sequence[Unit]] = []
    torch._dynamo.reset()
    with torch.no_grad(), watched(lambda report, units: found.append(units)):
        torch.compile(model, backend=backend)(x)
    ((unit,),) = found
    return unit.library


def test_packed_weights_take_at_most_a_tenth_more_than_the_weights() -> None:
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 384)).eval()
    library = library_of(model, torch.randn(64, 256))
    weights = sum(parameter.nbytes for parameter in model.parameters())
    assert library.frozen_bytes == weights
    assert library.packed_bytes <= 1.1 * (weights - library.read_bytes)


def test_embeddings_are_read_where_torch_has_them() -> None:
    model = nn.Embedding(5000, 32).eval()
    library = library_of(model, torch.tensor([3, 7, 4999]))
    assert library.packed_bytes == 0
    assert library.read_bytes == model.weight.nbytes
    (name,) = library.weights
    _, (array,) = library.loaded({name: model.weight.detach()}, 1)
    assert array.ctypes.data == model.weight.data_ptr()
