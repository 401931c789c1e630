"""Cases of the benchmark that are small enough for tests."""

from __future__ import annotations

from dataclasses import replace

from tilewright.tune.shapes import ChainShape, ConvChainShape
from tilewright_bench.cases import mlp_shapes
from tilewright_bench.cases.attention_shapes import AttentionShape
from tilewright_bench.cases.conv_chain_shapes import inverted_residual, of_table_v

TINY = ChainShape("tiny", batch=2, m=5, n=3, k=4, l=6)
SMALL = AttentionShape("small", heads=4, queries=5, keys=7, width=16)
ATTENTIONS = {
    "plain": SMALL,
    "causal": replace(SMALL, queries=7, causal=True),
    "decode": replace(SMALL, queries=1),
    "grouped": replace(SMALL, kv_heads=2),
    "alibi": replace(SMALL, bias="alibi"),
    "mask": replace(SMALL, bias="mask"),
    "lengths": replace(SMALL, bias="lengths"),
    "by row": replace(SMALL, layout="bmhk"),
    "masked by row": replace(SMALL, layout="bmhk", bias="mask"),
}
NETWORKS = {shape.network: replace(shape, rows=5, width=12, hidden=9, out=7) for shape in mlp_shapes.SHAPES}
TWO_CONVOLUTIONS = ConvChainShape("small", (3, 9, 8), channels=(5, 4), strides=(2, 1), kernels=(3, 1))
CONV_CHAINS = {
    "plain": of_table_v(TWO_CONVOLUTIONS, with_relu=False),
    "relu": of_table_v(TWO_CONVOLUTIONS, with_relu=True),
    "inverted residual": inverted_residual(6, 7, 12),
    "inverted residual by two": inverted_residual(6, 7, 12, out=5, stride=2),
}
