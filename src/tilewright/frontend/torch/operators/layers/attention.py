"""Softmax and scaled dot-product attention.

Fused attention has one lowering for all of ATen's CPU forms. A mask's truth values say which keys take part, its numbers are
added to the scores; queries without keys give 0.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.extents import make_equal
from tilewright.frontend.torch.operators.rows.reductions import named_axis
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders import norms
from tilewright.graph.builders.attention import Participation, attend, attention_shape, check_mask
from tilewright.graph.types import SymbolicExtent, Tensor


@lowers("aten._softmax.default", "aten.softmax.int", "aten._safe_softmax.default")
def softmax(call: Call) -> Tensor:
    """`exp(x - max) / sum`, in the result's type."""
    is_safe = call.operator == "_safe_softmax"
    return _of_rows(call, lambda x, axis: call.builder.record(norms.softmax, x, axis, safe=is_safe, kind="softmax"))


@lowers("aten._log_softmax.default", "aten.log_softmax.int")
def log_softmax(call: Call) -> Tensor:
    """Its logarithm."""

    return _of_rows(call, lambda x, axis: call.builder.record(norms.log_softmax, x, axis, kind="log_softmax"))


def _of_rows(call: Call, function: Callable[[Tensor, int], Tensor]) -> Tensor:
    """A function of rows along a dimension; a number is a row of its own."""
    x = call.tensor("self", call.result.dtype)
    if x.shape:
        return function(x, named_axis(call, x))
    return call.builder.reshape(function(call.builder.reshape(x, (1,)), 0), ())


@lowers("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(call: Call) -> tuple[Tensor, None]:
    """Attention; the logarithms of its sums are not computed."""
    return _attention(call, "attn_mask"), None


@lowers("aten._scaled_dot_product_attention_math.default")
def plain_attention(call: Call) -> tuple[Tensor, None]:
    """Attention; its shares are not given."""
    return _attention(call, "attn_mask"), None


@lowers("aten._scaled_dot_product_fused_attention_overrideable.default")
def overrideable_attention(call: Call) -> tuple[Tensor | None, ...]:
    """Attention, of nine results."""
    return _attention(call, "attn_bias"), *(None,) * (len(call.results) - 1)


@lowers("aten.scaled_dot_product_attention.default")
def attention(call: Call) -> Tensor:
    """Attention as users call it."""
    return _attention(call, "attn_mask")


def make_equal_lengths(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Keys are as many as values, and as columns of the mask, whose rows are as many as queries. Raises `EqualExtents`.

    Torch specialises extents of 1, so that an extent known at run time does not broadcast.
    """
    pairs = [(k.shape[-2], v.shape[-2])] if min(len(k.shape), len(v.shape)) >= 2 else []
    if mask is not None and min(len(mask.shape), len(k.shape), len(q.shape)) >= 2:
        pairs += [(k.shape[-2], mask.shape[-1]), (q.shape[-2], mask.shape[-2])]
    for first, second in pairs:
        if isinstance(first, SymbolicExtent) and isinstance(second, SymbolicExtent):
            make_equal(first, second)


def _attention(call: Call, mask_name: str) -> Tensor:
    if call["dropout_p"]:
        raise call.refuse("dropout")
    q, k, v, mask = call.tensor("query"), call.tensor("key"), call.tensor("value"), call.optional(mask_name)
    make_equal_lengths(q, k, v, mask)
    shape = attention_shape(q.shape, k.shape, v.shape, grouped=True, name=call.operator)
    if shape.group > 1 and call.has("enable_gqa") and not call["enable_gqa"]:
        raise call.refuse("heads that broadcast")
    if 0 in (*q.shape, *k.shape, *v.shape):
        raise call.refuse("no elements")
    if mask is not None:
        check_mask(shape, mask.shape)
        if mask.dtype not in ("bool", q.dtype):
            mask = call.cast(mask, wide_type(q.dtype))
    taken = Participation(right=0 if call["is_causal"] else None)
    return attend(call.builder, shape, q, k, v, scale=call["scale"], mask=mask, taken=taken).result
