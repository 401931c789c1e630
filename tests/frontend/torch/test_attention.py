"""Softmax and attention of ATen: masks, rows without keys, types."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.support.torch.equal import check, check_call
from tilewright.api.torch import counting
from tilewright.torch import backend

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

aten = torch.ops.aten
ROWS = torch.tensor([[0.0, 1, 2], [-math.inf] * 3, [math.inf, 0, 1], [-math.inf, 0, -math.inf]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_softmax_of_infinities(dtype):
    check(lambda x: (x.softmax(1), aten._safe_softmax(x, 1), x.log_softmax(0), x.sum().softmax(0)), ROWS.to(dtype))


def heads(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(is_causal, dtype):
    q, k = heads(2, 4, 5, 8, dtype=dtype), heads(2, 4, 7, 8, dtype=dtype)
    check(lambda q, k: aten._scaled_dot_product_flash_attention_for_cpu(q, k, k, 0.0, is_causal)[0], q, k)


def test_queries_whose_keys_are_all_masked_give_0():
    q, mask = heads(1, 2, 4, 8), torch.tensor([0.0, -math.inf, 0.5]).reshape(1, 1, 3, 1).expand(1, 1, 3, 4)
    mask = torch.cat([mask, torch.full((1, 1, 1, 4), -math.inf)], 2)
    flash = aten._scaled_dot_product_flash_attention_for_cpu
    check(lambda q, mask: flash(q, q, q, 0.0, False, attn_mask=mask, scale=0.3)[0], q, mask)


def test_attention_as_users_call_it():
    q, k, mask = heads(2, 4, 5, 8), heads(2, 2, 5, 8), torch.rand(5, 5) > 0.5
    overload = aten.scaled_dot_product_attention.default
    check_call(overload, q, q, q, is_causal=True, scale=0.5)
    check_call(overload, q, k, k, enable_gqa=True)
    check_call(overload, q, q, q, mask)


def test_lengths_that_torch_has_not_compared_are_one() -> None:
    def decode(q, k, v, more_k, more_v, mask):
        keys, values = torch.cat([k, more_k], 2), torch.cat([v, more_v], 2)
        return functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

    compiled = torch.compile(decode, backend=backend, dynamic=True)
    counting.reset()
    with torch.no_grad():
        for length in (7, 12, 30):
            q, k, v, more_k, more_v = (torch.randn(1, 2, rows, 8) for rows in (3, length, length, 3, 3))
            mask = torch.randn(1, 1, 3, length + 3)
            torch.testing.assert_close(compiled(q, k, v, more_k, more_v, mask), decode(q, k, v, more_k, more_v, mask))
        (report,) = counting.reports()
        assert (report.parts, report.eager) == (1, ())
        with pytest.raises(ValueError, match="shape"):
            compiled(q, k, v[:, :, :-1], more_k, more_v, mask)
