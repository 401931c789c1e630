"""Errors of convolutions and pools: what went wrong, why, and what to try."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontend.tracing.trace import TensorSpec, trace

MESSAGES: dict[str, tuple[Any, tuple[tuple[int, ...], ...], str]] = {
    "groups that do not divide": (
        lambda x, w: tw.conv2d(x, w, groups=4),
        ((1, 6, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 6, 8, 8) by (4, 3, 3, 3) with groups=4\n"
        "  why: groups divide the 6 channels of x and the 4 filters\n"
        "  hint: groups can be 1, 2",
    ),
    "groups of none": (
        lambda x, w: tw.conv2d(x, w, groups=0),
        ((1, 6, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 6, 8, 8) by (4, 3, 3, 3) with groups=0\n  why: it is an integer from 1 on",
    ),
    "mismatched channels": (
        lambda x, w: tw.conv2d(x, w),
        ((1, 6, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 6, 8, 8) by (4, 3, 3, 3)\n"
        "  why: the filters take 3 channels, and x has 6 (layout='NCHW', filter_layout='OIHW')\n"
        "  hint: groups=2 fits these filters",
    ),
    "channels in another place": (
        lambda x, w: tw.conv2d(x, w),
        ((1, 8, 8, 3), (4, 3, 3, 3)),
        "conv2d of (1, 8, 8, 3) by (4, 3, 3, 3)\n"
        "  why: the filters take 3 channels, and x has 8 (layout='NCHW', filter_layout='OIHW')\n"
        "  hint: say by layout and filter_layout where channels lie",
    ),
    "channels of transposed filters": (
        lambda x, w: tw.conv_transpose1d(x, w),
        ((1, 6, 8), (4, 3, 3)),
        "conv_transpose1d of (1, 6, 8) by (4, 3, 3)\n"
        "  why: the filters take 4 channels, and x has 6 (layout='NCW', filter_layout='IOW')\n"
        "  hint: say by layout and filter_layout where channels lie",
    ),
    "a kernel larger than the padded image": (
        lambda x, w: tw.conv2d(x, w, dilation=(1, 2), padding=(1, (1, 0))),
        ((1, 3, 8, 4), (4, 3, 3, 5)),
        "conv2d of (1, 3, 8, 4) by (4, 3, 3, 5): the kernel is larger than the padded image\n"
        "  why: along W a window has 5 taps with a dilation of 2: 9 elements, and the image 4 and 1 of padding\n"
        "  hint: pad W by 4 more, or use a smaller kernel",
    ),
    "negative padding": (
        lambda x, w: tw.conv1d(x, w, padding=-1),
        ((1, 3, 8), (4, 3, 3)),
        "conv1d of (1, 3, 8) by (4, 3, 3) with padding=-1\n"
        "  why: padding adds elements: it is 0 or more\n"
        "  hint: cut elements off by a slice: x[..., 1:-1]",
    ),
    "padding of another rank": (
        lambda x, w: tw.conv2d(x, w, padding=(1, 1, 1, 1)),
        ((1, 3, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 3, 8, 8) by (4, 3, 3, 3) with padding=(1, 1, 1, 1)\n"
        "  why: it is a number, a name, or for each of the dimensions H, W a number or a pair (before, behind)\n"
        "  hint: names are valid, same, same_upper, same_lower",
    ),
    "padding of another name": (
        lambda x, w: tw.conv2d(x, w, padding="full"),
        ((1, 3, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 3, 8, 8) by (4, 3, 3, 3) with padding='full'\n"
        "  hint: use one of valid, same, same_upper, same_lower, or numbers of elements",
    ),
    "a wrong rank": (
        lambda x, w: tw.conv2d(x, w),
        ((3, 8), (4, 3, 3, 3)),
        "conv2d of (3, 8) by (4, 3, 3, 3)\n"
        "  why: x has the dimensions NCHW, or these without N, and the filters have OIHW\n"
        "  hint: conv1d, conv2d and conv3d are for one, two and three spatial dimensions, as are the transposed ones",
    ),
    "a stride of none": (
        lambda x, w: tw.conv2d(x, w, stride=(1, 0)),
        ((1, 3, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 3, 8, 8) by (4, 3, 3, 3) with stride=(1, 0)\n"
        "  why: stride is an integer from 1 on, or one for each of the dimensions H, W",
    ),
    "a stride that is no whole number": (
        lambda x, w: tw.conv2d(x, w, stride=1.5),
        ((1, 3, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 3, 8, 8) by (4, 3, 3, 3) with stride=1.5\n"
        "  why: stride is an integer from 1 on, or one for each of the dimensions H, W",
    ),
    "an unknown layout": (
        lambda x, w: tw.conv2d(x, w, layout="NHCC"),
        ((1, 3, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 3, 8, 8) by (4, 3, 3, 3) with layout='NHCC'\n"
        "  why: it is an order of the dimensions N, C, H, W\n"
        "  hint: layout='NCHW' is the default",
    ),
    "a bias of another shape": (
        lambda x, w: tw.conv2d(x, w, np.zeros(3, np.float32)),
        ((1, 3, 8, 8), (4, 3, 3, 3)),
        "conv2d of (1, 3, 8, 8) by (4, 3, 3, 3) with a bias of shape (3,)\n"
        "  why: there is a number for each of the 4 filters: (4,)",
    ),
    "filters without taps": (
        lambda x, w: tw.conv1d(x, w),
        ((1, 3, 8), (4, 3, 0)),
        "conv1d of (1, 3, 8) by (4, 3, 0)\n  why: the filters have no taps\n  hint: give every kernel extent 1 at least",
    ),
    "more output padding than a step": (
        lambda x, w: tw.conv_transpose1d(x, w, stride=2, output_padding=2),
        ((1, 3, 8), (3, 4, 3)),
        "conv_transpose1d of (1, 3, 8) by (3, 4, 3) with output_padding=2\n"
        "  why: it is less than the stride or the dilation: it tells apart the shapes that a stride maps to one\n"
        "  hint: pad the result instead",
    ),
    "padding that cuts everything off": (
        lambda x, w: tw.conv_transpose1d(x, w, padding=5),
        ((1, 3, 8), (3, 4, 3)),
        "conv_transpose1d of (1, 3, 8) by (3, 4, 3) with padding=5\n"
        "  why: the padding cuts off more than there is: extents of (0,) would be left\n"
        "  hint: use less padding",
    ),
    "a pool of a matrix": (
        lambda x: tw.max_pool(x, 2),
        ((8, 8),),
        "max_pool of (8, 8)\n  why: x has the dimensions NCW, NCHW or NCDHW\n  hint: add dimensions by reshape or expand_dims",
    ),
    "windows of padding alone": (
        lambda x: tw.max_pool(x, 2, padding=2),
        ((1, 3, 8, 8),),
        "max_pool of (1, 3, 8, 8) with padding=2\n"
        "  why: along H a window of 2 elements sees padding only\n"
        "  hint: use less padding than the window is long",
    ),
    "a pool larger than the image": (
        lambda x: tw.avg_pool(x, (3, 9)),
        ((1, 3, 8, 8),),
        "avg_pool of (1, 3, 8, 8): the kernel is larger than the padded image\n"
        "  why: along W a window has 9 elements, and the image 8 and 0 of padding\n"
        "  hint: pad W by 1 more, or use a smaller kernel",
    ),
    "spatial dimensions apart": (
        lambda x: tw.max_pool(x, 2, layout="NHCW"),
        ((1, 8, 3, 8),),
        "max_pool of (1, 8, 3, 8) with layout='NHCW'\n"
        "  why: the dimensions H, W lie side by side, in this order\n"
        "  hint: transpose x first",
    ),
}


@pytest.mark.parametrize(("function", "shapes", "message"), MESSAGES.values(), ids=list(MESSAGES))
def test_messages(function: Any, shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    """The same for plain arrays and while a function is traced; the place is the user's line."""
    for call in (lambda: function(*(np.zeros(shape, np.float32) for shape in shapes)), lambda: _traced(function, shapes)):
        with pytest.raises(tw.ShapeError) as caught:
            call()
        assert "test_window_errors.py:" in caught.value.where
        assert [line for line in str(caught.value).splitlines() if not line.startswith("  where: ")] == message.splitlines()


def _traced(function: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
    trace(function, [TensorSpec(shape) for shape in shapes])


def test_integers_have_no_means() -> None:
    x, w = np.ones((1, 1, 4), np.int32), np.ones((1, 1, 2), np.int32)
    assert tw.conv1d(x, w).tolist() == tw.jit(tw.conv1d)(x, w).tolist() == [[[2, 2, 2]]]
    with pytest.raises(tw.DTypeError, match="conv of int32 elements"):
        tw.jit(tw.conv1d, target="ascend910").lower(x, w)
    with pytest.raises(tw.DTypeError, match="avg_pool of int32 elements"):
        tw.avg_pool(x, 2)
