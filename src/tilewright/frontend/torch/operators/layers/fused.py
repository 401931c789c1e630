"""The public operators of Tilewright (`api/torch/fused.py`)."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.layers.attention import make_equal_lengths
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.attention import Participation, attend, attention_shape, check_mask
from tilewright.graph.types import Tensor


@lowers("tilewright.attention.default")
def attention(call: Call) -> Tensor:
    """Attention with masks, windows, groups of heads and lengths of keys."""
    q, k, v, mask = call.tensor("q"), call.tensor("k"), call.tensor("v"), call.optional("attn_mask")
    make_equal_lengths(q, k, v, mask)
    shape = attention_shape(q.shape, k.shape, v.shape, grouped=call["enable_gqa"], name=call.overload)
    if mask is not None:
        check_mask(shape, mask.shape)
    taken = Participation(
        call.optional("key_lengths"),
        call["left"],
        0 if call["is_causal"] else call["right"],
        None if call["causal_alignment"] == "bottom-right" else 0,
    )
    softcap = call["softcap"] or 0.0
    return attend(call.builder, shape, q, k, v, scale=call["scale"], softcap=softcap, mask=mask, taken=taken).result


@lowers("tilewright.mlp.default")
def mlp(call: Call) -> Tensor:
    """Two linear layers with an activation between them."""
    hidden = _linear(call, call.tensor("x"), "w1", "b1")
    if call["activation"] != "none":
        hidden = call.map(call["activation"], hidden)
    return _linear(call, hidden, "w2", "b2")


def _linear(call: Call, x: Tensor, weight: str, bias: str) -> Tensor:
    product = call.builder.matmul(x, call.builder.transpose(call.tensor(weight), (1, 0)))
    added = call.optional(bias)
    product = call.cast(product, call.result.dtype)
    return product if added is None else call.map("add", product, added)
