"""Recurrent layers of ATen calls."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.support.torch import equal
from tests.support.torch.tracing import arrays_of, eager_reasons, evaluated, recorded

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

LAYERS = [
    nn.LSTM(5, 4, 2, bidirectional=True, batch_first=True),
    nn.LSTM(5, 4, bias=False),
    nn.GRU(5, 4, 2, bidirectional=True),
    nn.RNN(5, 4, batch_first=True),
    nn.RNN(5, 4, nonlinearity="relu"),
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layers_of_exported_programs(layer):
    x = torch.randn(3, 2, 5)
    states = torch.randn(layer.num_layers * (1 + layer.bidirectional), 2 + layer.batch_first, 4)
    given = (x, (states, 2 * states) if isinstance(layer, nn.LSTM) else states)
    module = torch.export.export(layer.eval(), given).run_decompositions({}).graph_module
    recording = recorded(module)
    assert not eager_reasons(recording, module)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(layer(*given))
    found = evaluated(recording, module, [*layer.parameters(), *torch.utils._pytree.tree_leaves(given)])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(one), torch.from_numpy(arrays_of(other)))


@pytest.mark.parametrize("is_reverse", [False, True])
def test_a_direction_of_a_layer(is_reverse):
    x, state, weights = torch.randn(6, 2, 5), torch.randn(1, 2, 4), nn.LSTM(5, 4)
    given = (x, *weights.parameters(), state, 2 * state)

    def layer(*given):
        return torch.ops.aten.mkldnn_rnn_layer(*given, is_reverse, [], 2, 4, 1, True, False, False, False)[:3]

    equal.check(layer, *given)


def test_long_sequences_stay_in_eager():
    x, layer = torch.randn(65, 1, 2), nn.GRU(2, 2)
    module = torch.export.export(layer, (x, torch.randn(1, 1, 2))).run_decompositions({}).graph_module
    assert "65 steps" in eager_reasons(recorded(module), module)[0]
