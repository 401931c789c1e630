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
from tilewright_bench.cases.conv_chain_shapes import conv_chain
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.conv_shapes import named_shape
from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_shapes import mlp_shape
from tilewright_bench.cases.required import Required

AnyCase: TypeAlias = ChainCase | AttentionCase | MlpCase | ConvCase | ConvChainCase
FILTERS = 8
"""Of a packed block of a chain of convolutions; taps and channels stand before them."""
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


def pair(library: ctypes.CDLL, case: ConvChainCase, out: FloatArray) -> Callable[[], object]:
    """`void conv(image, filters, biases, result)`: both filters in blocks of `FILTERS`, behind each other, and so the biases."""
    filters = joined([panels(weight, FILTERS) for weight in case.filters])
    return plain_call(library.conv, [case.image, filters, joined(case.biases), out])


def inverted_residual(library: ctypes.CDLL, case: ConvChainCase, out: FloatArray) -> Callable[[], object]:
    """`void block(image, expanding, its bias, by depth, its bias, projecting, its bias, result)`.

    Expanding filters are in blocks of 48 or 32; those by depth have the taps first; projecting filters lie below each hidden
    channel in blocks of 32, or of 24 results in three groups of eight, each for two hidden channels at a time, with biases twice.
    """
    expanding, by_depth, projecting = case.filters
    first, depth, last = case.biases
    hidden, results = by_depth.shape[0], projecting.shape[0]
    taps = by_depth.reshape(hidden, -1).T
    packed: FloatArray = panels(expanding, 48 if results == PAIRED_RESULTS else 32)
    below: FloatArray
    if results == PAIRED_RESULTS:
        below = projecting.reshape(3, 8, hidden // 2, 2).transpose(2, 0, 1, 3)
        last = np.repeat(last, 2)
    else:
        below = projecting.reshape(-1, 32, hidden).transpose(0, 2, 1)
    arrays = [joined([array]) for array in (packed, first, taps, depth, below, last)]
    return plain_call(library.block, [case.image, *arrays, out])


PAIRED_RESULTS = 24
"""Results of a block whose vectors have those of two hidden channels."""


def _attention(name: str) -> AttentionCase:
    return AttentionCase(attention_shape(name), "attention", REQUIRED)


def _mlp(name: str) -> MlpCase:
    return MlpCase(mlp_shape(name), "linear layers", REQUIRED)


def _chain(name: str, *, softmax: bool) -> ChainCase:
    return ChainCase(chain_shape(name), softmax, required=REQUIRED)


def _conv(name: str) -> ConvCase:
    return ConvCase(named_shape(name), "convolutions", REQUIRED)


def _conv_chain(name: str) -> ConvChainCase:
    return ConvChainCase(conv_chain(name), "chains of convolutions", REQUIRED)


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
    "conv1x1_pair": Yardstick("families/conv1x1_pair.c", _conv_chain("conv1x1_pair"), pair),
    "conv3x3_1x1": Yardstick("families/conv3x3_1x1.c", _conv_chain("conv3x3_1x1"), pair),
    "residual_56": Yardstick("families/residual_56.c", _conv_chain("residual_24_56"), inverted_residual),
    "residual_14": Yardstick("families/residual_14.c", _conv_chain("residual_96_14"), inverted_residual),
}


def call_of(function: Any, count: int, arrays: Sequence[FloatArray]) -> Callable[[], object]:
    """A call of `function(count, pointer, ...)`, which keeps the arrays alive."""
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    number = ctypes.c_long(count)
    return lambda: (function(number, *pointers), arrays)[0]


def plain_call(function: Any, arrays: Sequence[FloatArray]) -> Callable[[], object]:
    """A call of `function(pointer, ...)`, which keeps the arrays alive."""
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: (function(*pointers), arrays)[0]


def joined(arrays: Sequence[FloatArray]) -> FloatArray:
    """All elements behind each other."""
    whole = aligned((sum(array.size for array in arrays),))
    np.concatenate([array.ravel() for array in arrays], out=whole)
    return whole


def blocked(weight: FloatArray) -> FloatArray:
    """(in, out) as (out / PANEL, in, PANEL)."""
    inner, outer = weight.shape
    return weight.reshape(inner, outer // PANEL, PANEL).swapaxes(0, 1)


def panels(filters: FloatArray, block: int) -> FloatArray:
    """[filters, ...] as [filters / block, ..., block]."""
    return np.moveaxis(filters.reshape(filters.shape[0] // block, block, -1), 1, 2)
