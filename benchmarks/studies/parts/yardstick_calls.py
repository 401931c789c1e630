"""How each hand-made prototype is called: with the operands of its case, arranged as it wants them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tilewright.tune.shapes import chain_shape
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.attention_shapes import attention_shape
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.cases.conv_shapes import named_shape
from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_shapes import mlp_shape
from tilewright_bench.cases.required import Required

AnyCase: TypeAlias = ChainCase | AttentionCase | MlpCase | ConvCase
PANEL = 48
"""Columns of a packed block of a feed-forward network's weights."""
REQUIRED = Required(ratio=0.96)
"""Of the prototype's speed."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A C file below the directory, what it is compiled with, its case, and the call (library, case, result) of it."""

    file: str
    case: AnyCase
    call: Callable[[ctypes.CDLL, Any, FloatArray], Callable[[], object]]
    defines: tuple[str, ...] = ()


def chain(library: ctypes.CDLL, case: ChainCase, out: FloatArray) -> Callable[[], object]:
    """`void attn(long batch, a, b, d, e, void *workspace)`, and `long attn_ws(void)` with the bytes of the workspace."""
    library.attn_ws.restype = ctypes.c_long
    workspace = aligned((library.attn_ws() // 4 + 1024,))
    return call_of(library.attn, case.shape.batch, [*case.operands, out, workspace])


def attention(library: ctypes.CDLL, case: AttentionCase, out: FloatArray) -> Callable[[], object]:
    """`void attention(long heads, q, k, v, o)`."""
    return call_of(library.attention, case.shape.heads, [*case.operands, out])


def decode(library: ctypes.CDLL, case: AttentionCase, out: FloatArray) -> Callable[[], object]:
    """`void decode(long heads, q, k, v, o)`."""
    return call_of(library.decode, case.shape.heads, [*case.operands, out])


def mlp(library: ctypes.CDLL, case: MlpCase, out: FloatArray) -> Callable[[], object]:
    """`void mlp(long rows, x, w, b, y)`: the weights of all layers behind each other, and so the biases."""
    return call_of(library.mlp, case.shape.rows, [case.rows, joined(case.weights), joined(case.biases), out])


def feed_forward(library: ctypes.CDLL, case: MlpCase, out: FloatArray) -> Callable[[], object]:
    """`void ffn(long rows, x, w1, b1, w2, b2, y)`: the weights in blocks of `PANEL` columns, all rows of a block together."""
    packed = [joined([blocked(weight)]) for weight in case.weights]
    operands = [case.rows, packed[0], case.biases[0], packed[1], case.biases[1], out]
    return call_of(library.ffn, case.shape.rows, operands)


def convolution(
    library: ctypes.CDLL, case: ConvCase, out: FloatArray, *, block: int, order: tuple[int, ...], workspace_floats: int
) -> Callable[[], object]:
    """`void conv(image, filters, result, workspace)`; filters are [filters / block, block, channels, *taps], in an order."""
    filters = case.filters.reshape(-1, block, *case.filters.shape[1:]).transpose(order)
    pointers = [case.image, joined([filters]), out, aligned((workspace_floats + 4096,))]
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in pointers]
    return lambda: (library.conv(*addresses), pointers)[0]


def _attention(name: str) -> AttentionCase:
    return AttentionCase(attention_shape(name), "attention", REQUIRED)


def _mlp(name: str) -> MlpCase:
    return MlpCase(mlp_shape(name), "linear layers", REQUIRED)


def _chain(name: str, *, softmax: bool) -> ChainCase:
    return ChainCase(chain_shape(name), softmax, required=REQUIRED)


def _conv(name: str) -> ConvCase:
    return ConvCase(named_shape(name), "convolutions", REQUIRED)


TAPS_BEFORE_FILTERS, CHANNELS_BEFORE_FILTERS = (0, 2, 4, 3, 1), (0, 2, 3, 4, 1)
YARDSTICKS = {
    "gemm_chain_g2": Yardstick("gemm_chain_g2.c", _chain("G2", softmax=False), chain),
    "attention_g2": Yardstick("attention_g2.c", _chain("G2", softmax=True), chain),
    "attention_g9": Yardstick("attention_g9.c", _chain("G9", softmax=True), chain),
    "mlp_64": Yardstick("families/mlp.c", _mlp("mlp_64"), mlp, ("D=64", "LAYERS=4")),
    "mlp_32": Yardstick("families/mlp.c", _mlp("mlp_32"), mlp, ("D=32", "LAYERS=6")),
    "attention_full": Yardstick("families/attention.c", _attention("full_4096"), attention, ("CAUSAL=0",)),
    "attention_causal": Yardstick("families/attention.c", _attention("causal_4096"), attention, ("CAUSAL=1",)),
    "decode": Yardstick("families/decode.c", _attention("decode_4096"), decode),
    **{f"ffn_{rows}": Yardstick("families/ffn.c", _mlp(f"ffn_{rows}"), feed_forward) for rows in (1, 16, 128)},
    "conv3x3_64_56": Yardstick(
        "conv3x3_64_56.c",
        _conv("3x3_64-64_56"),
        partial(convolution, block=8, order=TAPS_BEFORE_FILTERS, workspace_floats=27904),
    ),
    "conv3x3_256_14": Yardstick(
        "conv3x3_256_14.c",
        _conv("3x3_256-256_14"),
        partial(convolution, block=4, order=TAPS_BEFORE_FILTERS, workspace_floats=11776),
    ),
    "conv1x1_256_56": Yardstick(
        "conv1x1_256_56.c",
        _conv("1x1_256-64_56"),
        partial(convolution, block=32, order=CHANNELS_BEFORE_FILTERS, workspace_floats=803840),
    ),
}


def call_of(function: Any, count: int, arrays: Sequence[FloatArray]) -> Callable[[], object]:
    """A call of `function(count, pointer, ...)`, which keeps the arrays alive."""
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    number = ctypes.c_long(count)
    return lambda: (function(number, *pointers), arrays)[0]


def joined(arrays: Sequence[FloatArray]) -> FloatArray:
    """All elements behind each other."""
    whole = aligned((sum(array.size for array in arrays),))
    np.concatenate([array.ravel() for array in arrays], out=whole)
    return whole


def blocked(weight: FloatArray) -> FloatArray:
    """(in, out) as (out / PANEL, in, PANEL)."""
    inner, outer = weight.shape
    return weight.reshape(inner, outer // PANEL, PANEL).swapaxes(0, 1)
