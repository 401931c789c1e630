"""oneDNN on convolutions: its direct primitive on NCHW, filters in the order that it asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onednn import library as onednn_library


def prepare(case: ConvCase, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment before OpenMP was loaded."""
    shape, out = case.shape, aligned(case.result_shape)
    filters = case.filters
    if shape.groups > 1:
        filters = filters.reshape(shape.groups, shape.filters // shape.groups, *filters.shape[1:])
    windows = (shape.stride, [gap - 1 for gap in shape.dilation], shape.padding, shape.padding)
    run = onednn_library.convolution(onednn_library.load(), case.image, filters, out, windows)
    yield Contender("onednn", lambda: run(1), lambda: out)


PEER = Peer(
    "onednn",
    (onednn_library.PACKAGE,),
    prepare,
    "the direct primitive on the caller's arrays, NCHW in and out",
    prepacked_note="reordered ahead as the primitive asks",
    hint=onednn_library.HINT,
)
