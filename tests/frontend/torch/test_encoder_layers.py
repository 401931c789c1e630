"""The fast path of `nn.TransformerEncoderLayer`."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tilewright.api.torch import counting
from tilewright.torch import backend

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


@pytest.mark.parametrize(("norm_first", "activation"), [(False, "relu"), (True, "gelu")])
@pytest.mark.parametrize("mask", [None, "src_mask", "src_key_padding_mask"])
def test_encoder_layers_are_compiled(norm_first, activation, mask):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True, norm_first=norm_first, activation=activation).eval()
    shape = {"src_mask": (5, 5), "src_key_padding_mask": (3, 5)}
    given = {} if mask is None else {mask: torch.ones(shape[mask], dtype=torch.bool).triu(1)}
    if mask == "src_key_padding_mask":
        given[mask][2] = True  # a sequence without keys
    counting.reset()
    torch._dynamo.reset()
    x = torch.randn(3, 5, 16)
    with torch.no_grad():
        found, expected = torch.compile(layer, backend=backend)(x, **given), layer(x, **given)
    torch.testing.assert_close(found, expected, equal_nan=True)
    (report,) = counting.reports()
    assert (report.parts, report.eager) == (1, ())


def test_widths_that_torch_takes_for_symbols_are_those_of_the_weights():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True).eval()
    counting.reset()
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend=backend, dynamic=True)
    with torch.no_grad():
        for batch, tokens in ((3, 5), (2, 16)):
            x, mask = torch.randn(batch, tokens, 16), torch.ones(batch, tokens, dtype=torch.bool).triu(tokens - 1)
            torch.testing.assert_close(compiled(x, src_key_padding_mask=mask), layer(x, src_key_padding_mask=mask))
    (report,) = counting.reports()
    assert (report.parts, report.eager) == (1, ())
