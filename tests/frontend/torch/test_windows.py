"""Convolutions, pools and resized images of ATen calls: special values, types, uneven parts, extents at run time."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.support.torch.tracing import arrays_of, eager_reasons, evaluated, recorded, traced

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

NAN, INF = float("nan"), float("inf")


def check(function, *tensors, mode="fake"):
    """The recorded graph against eager: equal types, shapes and, within tolerances, values."""
    module = traced(function, *tensors, mode=mode)
    recording = recorded(module)
    assert not eager_reasons(recording, module)
    found = evaluated(recording, module, tensors)
    expected = function(*tensors)
    for one, other in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        torch.testing.assert_close(torch.from_numpy(one), torch.from_numpy(arrays_of(other)), equal_nan=True)


@pytest.mark.parametrize("value", [NAN, INF, -INF, 1.0])
def test_the_largest_of_windows_and_its_number_in_the_plane(value):
    x = torch.randn(2, 3, 7, 6).round()
    x[:, 1] = -INF
    x[0, :, 2:4, 1:5] = value
    check(lambda x: torch.ops.aten.max_pool2d_with_indices(x, [3, 2], [2, 1], [1, 1], [2, 1], True), x)
    check(lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), x)


def test_the_largest_of_integers_is_never_padding():
    x = torch.full((1, 2, 4, 4), torch.iinfo(torch.int64).min)
    x[0, 0, 1, 1] = 2**60 + 1
    check(lambda x: torch.ops.aten.max_pool2d_with_indices(x, [2, 2], [2, 2], [1, 1]), x)


def test_uneven_parts_keep_infinities_to_themselves():
    x = torch.randn(2, 10, 7)
    x[0, 0, 0], x[1, 9, 6] = INF, NAN
    check(lambda x: torch.ops.aten._adaptive_avg_pool2d(x, [4, 3]), x)


def test_means_of_integers_lose_their_fraction():
    x = torch.randint(-9, 9, (1, 2, 5, 5))
    check(lambda x: F.avg_pool2d(x, 2, padding=1, ceil_mode=True, count_include_pad=False), x)
    check(lambda x: F.avg_pool2d(x, 2, divisor_override=-3), x)


def test_convolutions():
    x, w, b = torch.randn(2, 4, 9, 8), torch.randn(6, 2, 3, 2), torch.randn(6)
    check(lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2), x, w, b)
    check(lambda x, w: F.conv_transpose2d(x, w, None, (2, 3), (1, 0), (1, 2), 2), x, torch.randn(4, 3, 3, 2))
    check(lambda x, w: F.conv2d(x, w, None, 1, "same"), x, torch.randn(6, 4, 5, 3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_convolutions_in_their_own_type(dtype):
    x, w = (torch.randint(-(2**20), 2**20, shape).to(dtype) for shape in ((1, 2, 5), (3, 2, 3)))
    check(lambda x, w: torch.conv1d(x, w, None, 1, 1), x, w)


def test_images_of_run_time_extents():
    x, w = torch.randn(3, 4, 20, 18), torch.randn(5, 4, 3, 3)

    def pooled(x):
        y = F.max_pool2d(F.conv2d(x, w, None, 1, 1), 2)
        return F.avg_pool2d(y, 3, 1, 1, count_include_pad=False), torch.ops.aten._adaptive_avg_pool2d(y, [1, 1])

    check(pooled, x, mode="symbolic")


@pytest.mark.parametrize("scale", [1.03, 2.2, 0.34, 1.7, None])
def test_nearest_elements_are_atens(scale):
    x = torch.arange(61.0).reshape(1, 1, 61)
    outputs = [int(61 * scale)] if scale else [99]
    check(lambda x: torch.ops.aten.upsample_nearest1d(x, outputs, scale), x)
    check(lambda x: torch.ops.aten._upsample_nearest_exact1d(x.double(), outputs, scale), x)
    check(lambda x: torch.ops.aten.upsample_nearest1d(x, [122], scale), x)
    check(lambda x: torch.ops.aten.upsample_nearest2d(x, [2, 122], scale, scale), x[None])


@pytest.mark.parametrize("is_aligned", [True, False])
def test_infinities_reach_as_far_as_their_weights(is_aligned):
    x = torch.randn(1, 2, 5, 7)
    x[0, 0, 1, 2], x[0, 1, 3, 0] = INF, NAN
    check(lambda x: torch.ops.aten.upsample_bilinear2d(x, [5, 12], is_aligned, 1.3, None), x)
    check(lambda x: torch.ops.aten.upsample_bicubic2d(x, [8, 6], is_aligned, None, 0.9), x)
    check(lambda x: torch.ops.aten._upsample_bicubic2d_aa(x, [3, 7], is_aligned, None, 1.01), x)


def test_blocks_and_columns():
    x = torch.randn(2, 8, 6, 4)
    check(lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 4)), x)
    check(lambda x: F.unfold(x, 2), x[:0])
    check(lambda x: F.unfold(x, (3, 2), (2, 1), (1, 0), (1, 2)), x)


def test_windows_of_windows_and_continued_images_of_extents_at_run_time():
    def pooled(x):
        mirrored = F.pad(x, (2, 1, 3, 2), mode="reflect")
        return F.max_pool2d(F.max_pool2d(x, 2), 2), mirrored, F.pad(x, (2, 0, 1, 4), mode="replicate"), F.instance_norm(x)

    check(pooled, torch.randn(2, 3, 9, 7), mode="symbolic")
