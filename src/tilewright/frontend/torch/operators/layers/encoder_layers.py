"""The layer that `nn.TransformerEncoderLayer` calls in inference: attention of a sequence to itself, then two linear layers.

Source: PyTorch 2.13, aten/src/ATen/native/transformers/transformer.cpp, `transformer_encoder_layer_forward`.
"""

from __future__ import annotations

import math

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.extents import make_equal
from tilewright.frontend.torch.operators.rows.products import linear_of
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders import norms
from tilewright.graph.builders.attention import Participation, attend, attention_shape
from tilewright.graph.types import Tensor, planned_extent

OF_QUERIES_AND_KEYS, OF_KEYS, OF_HEADS = 0, 1, 2
"""Types of masks: (queries, keys), (batch, keys), and (batch, heads, queries, keys)."""


@lowers("aten._transformer_encoder_layer_fwd.default")
def encoder_layer(call: Call) -> Tensor:
    """src (batch, tokens, width); norms come before the parts with `norm_first`, else behind the sums."""
    src = call.tensor("src")
    if len(src.shape) != 3 or 0 in src.shape or src.dtype != "float32":
        raise call.refuse("a source that is no batch of sequences of float32")
    _make_equal_extents(call, src)
    is_first = call["norm_first"]
    attended = call.map("add", _attention(call, _norm(call, src, 1) if is_first else src), src)
    attended = attended if is_first else _norm(call, attended, 1)
    mapped = call.map("add", _network(call, _norm(call, attended, 2) if is_first else attended), attended)
    return mapped if is_first else _norm(call, mapped, 2)


def _make_equal_extents(call: Call, src: Tensor) -> None:
    """The source is as wide as the weights, and fits the mask, which torch does not compare. Raises `EqualExtents`."""
    batch, tokens, width = src.shape
    make_equal(width, call.tensor("qkv_weight").shape[-1])
    mask = call.optional("mask")
    if mask is not None:
        make_equal(batch if call["mask_type"] == OF_KEYS else tokens, mask.shape[-2])
        make_equal(tokens, mask.shape[-1])


def _norm(call: Call, x: Tensor, number: int) -> Tensor:
    operands = [x, call.tensor(f"norm_weight_{number}"), call.tensor(f"norm_bias_{number}")]
    return call.builder.record(norms.layer_norm, operands, -1, float(call["eps"]), has_bias=True, kind="layer_norm")


def _network(call: Call, x: Tensor) -> Tensor:
    hidden = _linear(call, x, "ffn_weight_1", "ffn_bias_1")
    return _linear(call, call.map("gelu" if call["use_gelu"] else "relu", hidden), "ffn_weight_2", "ffn_bias_2")


def _linear(call: Call, x: Tensor, weight: str, bias: str) -> Tensor:
    return linear_of(call, x, call.tensor(weight), call.tensor(bias))


def _attention(call: Call, x: Tensor) -> Tensor:
    builder, (batch, tokens, width), heads = call.builder, x.shape, call["num_heads"]
    if not isinstance(width, int) or width % heads:
        raise call.refuse(f"a width of {width} for {heads} heads")
    apart = builder.reshape(_linear(call, x, "qkv_weight", "qkv_bias"), (batch, tokens, 3, heads, width // heads))
    q, k, v = (builder.transpose(builder.slice(apart, (slice(None), slice(None), part)), (0, 2, 1, 3)) for part in range(3))
    joined = builder.reshape(builder.transpose(_attended(call, q, k, v), (0, 2, 1, 3)), x.shape)
    return _linear(call, joined, "proj_weight", "proj_bias")


def _attended(call: Call, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(batch, heads, tokens, width of a head). Queries without keys are NaN here, where fused attention gives 0."""
    builder, taking = call.builder, _taking_part(call)
    if taking is None:
        shape = attention_shape(q.shape, k.shape, v.shape, grouped=False, name=call.operator)
        return attend(builder, shape, q, k, v, taken=Participation()).result
    scores = call.map("multiply", builder.einsum("bhmk,bhlk->bhml", q, k), 1 / math.sqrt(planned_extent(q.shape[-1])))
    taken = call.map("where", taking, scores, -math.inf)
    return builder.einsum("bhml,bhln->bhmn", builder.softmax(taken, -1), v)


def _taking_part(call: Call) -> Tensor | None:
    """Which keys take part, in a shape that broadcasts to (batch, heads, queries, keys).

    Torch's mask has the others, as truth values or as numbers that are not 0 (`masked_softmax` of attention.cpp).
    """
    mask, kind = call.optional("mask"), call["mask_type"]
    if mask is None:
        return None
    if (kind, len(mask.shape)) not in ((OF_QUERIES_AND_KEYS, 2), (OF_KEYS, 2), (OF_HEADS, 4)):
        raise call.refuse(f"a mask of {len(mask.shape)} dimensions, type {kind}")
    taking = call.map("logical_not", call.cast(mask, "bool"), dtype="bool")
    if kind != OF_KEYS:
        return taking
    batch, keys = mask.shape
    return call.builder.reshape(taking, (batch, 1, 1, keys))
