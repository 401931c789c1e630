"""Convolutions and transposed convolutions: against their definitions, against PyTorch, and the kernels against both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.support import convolutions
from tests.support.algorithms import problems
from tests.support.convolutions import Case, cases
from tests.support.graphs import random
from tests.support.random.jit.program import in_layout
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.plan.algorithms.padded_image import convolution_of
from tilewright.plan.algorithms.product_roles import points

FUNCTIONS = {
    "conv": (tw.conv1d, tw.conv2d, tw.conv3d),
    "transpose": (tw.conv_transpose1d, tw.conv_transpose2d, tw.conv_transpose3d),
}
ORACLES = {"conv": convolutions.convolved, "transpose": convolutions.transposed}


def function(kind: str, case: Case, **options: Any) -> Any:
    """The function of an image, filters, and perhaps a bias."""
    chosen = FUNCTIONS[kind][len(case.strides) - 1]
    return lambda x, w, bias=None: chosen(x, w, bias, groups=case.groups, **case.arguments() | options)


def operands(case: Case, kind: str = "conv") -> tuple[Any, Any, Any]:
    filters = case.w[0] if kind == "conv" else case.w[1] * case.groups
    return random(*case.x), random(*case.w, seed=1), random(filters, seed=2)


def turned(x: Any, canonical: str, layout: str) -> Any:
    """An array whose dimensions have the order of a layout."""
    return np.ascontiguousarray(x.transpose([canonical.index(letter) for letter in layout]))


@pytest.mark.parametrize("kind", FUNCTIONS)
@given(data=st.data())
def test_the_definition(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases(kind))
    x, w, bias = operands(case, kind)
    rank = len(case.strides)
    wanted = ORACLES[kind](case, x, w) + bias.reshape(-1, *(1,) * rank)
    found = function(kind, case)(x.astype("f8"), w.astype("f8"), bias.astype("f8"))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", FUNCTIONS)
@given(data=st.data())
def test_every_layout(kind: str, data: st.DataObject) -> None:
    case = data.draw(cases(kind))
    x, w, _ = operands(case, kind)
    space = "DHW"[-len(case.strides) :]
    image, filters = f"NC{space}", ("OI" if kind == "conv" else "IO") + space
    layouts = ["".join(data.draw(st.permutations(letters))) for letters in (image, filters, image)]
    options = dict(zip(("layout", "filter_layout", "out_layout"), layouts, strict=True))
    found = function(kind, case, **options)(turned(x, image, layouts[0]), turned(w, filters, layouts[1]))
    np.testing.assert_allclose(found, turned(ORACLES[kind](case, x, w), image, layouts[2]), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", FUNCTIONS)
@given(data=st.data())
def test_pytorch_means_the_same(kind: str, data: st.DataObject) -> None:
    torch = pytest.importorskip("torch")
    case = data.draw(cases(kind, is_symmetric=True))
    x, w, bias = (operand.astype("f8") for operand in operands(case, kind))
    rank, pads = len(case.strides), tuple(before for before, _ in case.pads)
    name = f"conv{rank}d" if kind == "conv" else f"conv_transpose{rank}d"
    options = case.arguments() | {"padding": pads, "groups": case.groups}
    wanted = getattr(torch.nn.functional, name)(*map(torch.from_numpy, (x, w, bias)), **options)
    np.testing.assert_allclose(function(kind, case)(x, w, bias), wanted, rtol=1e-12, atol=1e-12)


@given(extent=st.integers(1, 9), taps=st.integers(1, 5), stride=st.integers(1, 3), dilation=st.integers(1, 3))
def test_same_padding_gives_an_output_for_every_stride(extent: int, taps: int, stride: int, dilation: int) -> None:
    x, w = random(1, 2, extent), random(3, 2, taps)
    span = (taps - 1) * dilation + 1
    total = max((-(-extent // stride) - 1) * stride + span - extent, 0)
    for name, pads in (("same", (total // 2, total - total // 2)), ("same_lower", (total - total // 2, total // 2))):
        found = tw.conv1d(x, w, stride=stride, dilation=dilation, padding=name)
        assert found.shape[2] == -(-extent // stride)
        np.testing.assert_array_equal(found, tw.conv1d(x, w, stride=stride, dilation=dilation, padding=(pads,)))
    assert span > extent or tw.conv1d(x, w, dilation=dilation, padding="valid").shape == (1, 3, extent - span + 1)


def test_one_image_has_no_batch() -> None:
    x, w = random(3, 5, 6), random(4, 3, 3, 3)
    np.testing.assert_array_equal(tw.conv2d(x, w), tw.conv2d(x[None], w)[0])
    np.testing.assert_array_equal(tw.jit(tw.conv2d)(x, w), tw.jit(tw.conv2d)(x[None], w)[0])
    np.testing.assert_array_equal(tw.conv_transpose2d(x, random(3, 4, 3, 3)), tw.conv_transpose2d(x[None], random(3, 4, 3, 3))[0])


KERNELS: dict[str, tuple[str, Case]] = {
    "3x3": ("conv", Case((2, 6, 9, 10), (8, 6, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)))),
    "3x3 with steps": ("conv", Case((2, 6, 9, 10), (8, 6, 3, 3), (2, 3), (1, 1), ((1, 0), (0, 2)))),
    "1x1": ("conv", Case((2, 6, 9, 10), (8, 6, 1, 1), (1, 1), (1, 1), ((0, 0), (0, 0)))),
    "1x1 with steps": ("conv", Case((1, 6, 9, 10), (8, 6, 1, 1), (2, 2), (1, 1), ((0, 0), (0, 0)))),
    "even kernel, dilated": ("conv", Case((1, 5, 12, 11), (7, 5, 2, 4), (1, 1), (3, 2), ((2, 1), (0, 3)))),
    "large kernel": ("conv", Case((1, 3, 14, 15), (4, 3, 11, 9), (1, 1), (1, 1), ((5, 5), (4, 4)))),
    "a kernel larger than the image": ("conv", Case((1, 4, 2, 3), (5, 4, 5, 5), (1, 1), (1, 1), ((2, 2), (2, 2)))),
    "a step larger than the kernel": ("conv", Case((1, 4, 9, 9), (5, 4, 2, 2), (4, 3), (1, 1), ((0, 0), (1, 0)))),
    "groups": ("conv", Case((1, 12, 7, 8), (6, 4, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), 3)),
    "depthwise": ("conv", Case((2, 9, 8, 17), (9, 1, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), 9)),
    "depthwise with a multiplier": ("conv", Case((1, 5, 9, 12), (10, 1, 5, 5), (2, 2), (1, 1), ((2, 2), (2, 2)), 5)),
    "one pixel": ("conv", Case((3, 8, 1, 1), (16, 8, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)))),
    "one channel": ("conv", Case((1, 1, 8, 9), (1, 1, 3, 3), (1, 1), (1, 1), ((0, 0), (0, 0)))),
    "no image": ("conv", Case((0, 3, 8, 9), (4, 3, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)))),
    "no channel": ("conv", Case((1, 0, 5, 5), (4, 0, 3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)))),
    "one dimension": ("conv", Case((2, 5, 40), (7, 5, 5), (2,), (2,), ((3, 4),))),
    "three dimensions": ("conv", Case((1, 3, 5, 6, 7), (4, 3, 3, 2, 3), (1, 2, 1), (1, 1, 2), ((1, 1), (0, 1), (2, 2)))),
    "transposed": (
        "transpose",
        Case((2, 4, 5, 6), (4, 3, 3, 3), (2, 2), (1, 1), ((1, 1), (1, 1)), 1, {"output_padding": (1, 0)}),
    ),
    "transposed groups": ("transpose", Case((1, 6, 5, 4), (6, 2, 4, 2), (2, 1), (1, 2), ((1, 0), (0, 1)), 3)),
    "transposed, side by side": ("transpose", Case((1, 6, 5, 4), (6, 3, 2, 2), (2, 2), (1, 1), ((0, 0), (0, 0)))),
}


@pytest.mark.parametrize(("kind", "case"), KERNELS.values(), ids=list(KERNELS))
def test_kernels(kind: str, case: Case) -> None:
    x, w, bias = operands(case, kind)
    wanted = np.maximum(ORACLES[kind](case, x, w) + bias.reshape(-1, *(1,) * len(case.strides)), 0)
    one = function(kind, case)
    found = tw.jit(lambda x, w, bias: tw.relu(one(x, w, bias)))(x, w, bias)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["3x3", "3x3 with steps", "1x1", "groups", "depthwise", "transposed", "three dimensions"])
def test_kernels_of_channels_last(name: str) -> None:
    kind, case = KERNELS[name]
    x, w, _ = operands(case, kind)
    space = "DHW"[-len(case.strides) :]
    image, last = f"NC{space}", f"N{space}C"
    filters = ("OI" if kind == "conv" else "IO") + space
    one = function(kind, case, layout=last, filter_layout=f"{space}IO")
    residual = random(*ORACLES[kind](case, x, w).shape, seed=3)
    found = tw.jit(lambda x, w, r: one(x, w) + r)(
        turned(x, image, last), turned(w, filters, f"{space}IO"), turned(residual, image, last)
    )
    np.testing.assert_allclose(found, turned(ORACLES[kind](case, x, w) + residual, image, last), rtol=1e-4, atol=1e-4)


@settings(max_examples=5)
@given(data=st.data(), kind=st.sampled_from(list(FUNCTIONS)))
def test_random_kernels(data: st.DataObject, kind: str) -> None:
    case = data.draw(cases(kind))
    x, w, bias = operands(case, kind)
    wanted = ORACLES[kind](case, x, w) + bias.reshape(-1, *(1,) * len(case.strides))
    np.testing.assert_allclose(tw.jit(function(kind, case))(x, w, bias), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["backwards", "with gaps", "transposed", "unaligned"])
@pytest.mark.parametrize("name", ["3x3", "depthwise", "1x1"])
def test_views_are_read_as_they_lie(name: str, layout: str) -> None:
    kind, case = KERNELS[name]
    x, w, bias = operands(case, kind)
    jitted = tw.jit(function(kind, case))
    found = jitted(in_layout(x, layout), in_layout(w, layout), bias)
    np.testing.assert_array_equal(found, jitted(x, w, bias))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["3x3", "3x3 with steps", "even kernel, dilated", "groups", "depthwise", "transposed"])
def test_special_values_are_where_the_definition_has_them(name: str, value: float) -> None:
    """Of the image, at a corner and inside; of the filters, whose products with the zeros of the padding are NaN for infinity."""
    kind, case = KERNELS[name]
    x, w, _ = operands(case, kind)
    x[0, 0, 0, 0] = x[0, -1, 4, 3] = value
    if kind == "conv":
        w[0, 0, 1, 0] = value
    jitted = tw.jit(function(kind, case))
    with np.errstate(invalid="ignore"):
        wanted = function(kind, case)(x, w)
        defined = ORACLES[kind](case, x, w)
    np.testing.assert_array_equal(np.isnan(wanted), np.isnan(defined))
    np.testing.assert_allclose(jitted(x, w), wanted, rtol=1e-4, atol=1e-4)


def test_a_convolution_is_one_operator_in_every_layout() -> None:
    """Algorithms see what it is: `convolution_of`."""

    def nhwc(x: Any, w: Any) -> Any:
        return tw.conv2d(
            x, w, stride=2, padding=((0, 1), (2, 1)), groups=2, layout="NHWC", filter_layout="HWIO", out_layout="NCHW"
        )

    graph = trace(nhwc, [TensorSpec((2, 9, 10, 6)), TensorSpec((3, 3, 3, 8))])
    form = convolution_of(*problems(graph))
    assert form is not None
    assert form.channel_dimensions() == (3, 1)
    assert [(slide.stride, slide.seen) for slide in form.slides] == [(2, 9), (2, 13)]
    assert (points(form.roles.group), points(form.roles.filters), points(form.summed_channels)) == (2, 4, 3)


def test_constants_and_other_element_types() -> None:
    x, w = random(1, 3, 6, 7), random(4, 3, 3, 3)
    wanted = tw.conv2d(x, w, padding=1)
    np.testing.assert_allclose(tw.jit(lambda x: tw.conv2d(x, w, padding=1))(x), wanted, rtol=1e-4, atol=1e-5)
    assert tw.conv2d(x.astype(np.float16), w.astype(np.float16)).dtype == np.float16
    assert tw.conv2d(x, w.astype(np.float64)).dtype == np.float64


def test_batches_of_any_size_share_a_kernel() -> None:
    jitted, w = tw.jit(lambda x, w: tw.conv2d(x, w, padding=1)), random(4, 3, 3, 3)
    for batch in (2, 3, 5, 4):
        x = random(batch, 3, 6, 7)
        np.testing.assert_allclose(jitted(x, w), tw.conv2d(x, w, padding=1), rtol=1e-4, atol=1e-5)
    assert len(jitted.kernels) == 2


IMAGES = ((2, 5, 9, 12), (3, 5, 14, 7), (2, 5, 24, 33), (3, 5, 5, 6), (4, 5, 40, 5), (2, 5, 17, 64))
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "padded": {"padding": 1},
    "with steps": {"padding": ((0, 2), (1, 0)), "stride": 2},
    "same": {"padding": "same", "dilation": 2},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
def test_images_of_any_size_share_a_kernel(options: dict[str, Any]) -> None:
    """The first shape is specialised; from the second on batch, height and width are dynamic."""
    w, bias = random(8, 5, 3, 3), random(8)
    jitted = tw.jit(lambda x: tw.relu(tw.conv2d(x, w, bias, **options)))
    for shape in IMAGES:
        x = random(*shape)
        np.testing.assert_allclose(jitted(x), np.maximum(tw.conv2d(x, w, bias, **options), 0), rtol=1e-4, atol=1e-5)
    assert len(jitted.kernels) == 2


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_dynamic_outputs_are_expressions(layout: str) -> None:
    height, width = tw.Dim("h", 8, 512), tw.Dim("w", 8, 512)
    image = (2, 3, height, width) if layout == "NCHW" else (2, height, width, 3)
    function = tw.jit(lambda x, w: tw.conv2d(x, w, stride=2, padding=1, layout=layout))
    kernel = function.lower(tw.spec(image), tw.spec((4, 3, 3, 3))).compile()
    for h, w in ((8, 8), (13, 40), (64, 9)):
        x, filters = random(2, 3, h, w), random(4, 3, 3, 3)
        wanted = turned(tw.conv2d(x, filters, stride=2, padding=1), "NCHW", layout)
        np.testing.assert_allclose(kernel(turned(x, "NCHW", layout), filters), wanted, rtol=1e-4, atol=1e-5)


def test_images_too_small_for_a_window_are_errors_beside_dynamic_kernels() -> None:
    w = random(4, 3, 3, 3)
    jitted = tw.jit(lambda x: tw.conv2d(x, w))
    for size in (8, 9, 10, 3):
        assert jitted(random(1, 3, size, size)).shape == (1, 4, size - 2, size - 2)
    with pytest.raises(tw.ShapeError, match="window"):
        jitted(random(1, 3, 2, 9))


WIDTHS = ((2, 8), (3, 9), (4, 17), (5, 40), (1, 130))
"""Batches and sizes; the last one is wider than a block of vectors."""


@pytest.mark.parametrize(
    "options", [{"padding": 1}, {"padding": 1, "stride": 2}, {"padding": "same", "stride": 3}, {"dilation": 2}]
)
def test_depthwise_convolutions_of_any_size_share_a_kernel(options: dict[str, Any]) -> None:
    """They slide over images in their place, where it is known how far the first window stands out."""
    w = random(6, 1, 3, 3)
    jitted = tw.jit(lambda x: tw.conv2d(x, w, groups=6, **options))
    for batch, size in WIDTHS:
        x = random(batch, 6, size, size + 2)
        np.testing.assert_allclose(jitted(x), tw.conv2d(x, w, groups=6, **options), rtol=1e-4, atol=1e-5)
    assert len(jitted.kernels) == 2


@pytest.mark.parametrize(
    "options", [{"stride": 2}, {"stride": 2, "padding": 1, "output_padding": 1}, {"padding": 2, "dilation": 3}]
)
def test_transposed_convolutions_of_any_size_share_a_kernel(options: dict[str, Any]) -> None:
    w = random(4, 3, 2, 2)
    jitted = tw.jit(lambda x: tw.conv_transpose2d(x, w, **options))
    for batch, size in WIDTHS[:4]:
        x = random(batch, 4, size, size + 1)
        np.testing.assert_allclose(jitted(x), tw.conv_transpose2d(x, w, **options), rtol=1e-4, atol=1e-5)
    assert len(jitted.kernels) == 2


def test_a_result_with_a_new_dimension_of_one() -> None:
    """The map behind the sums writes along an axis of one point that they lack."""
    r = np.random.default_rng(0)
    x, w = r.standard_normal((3, 1, 16)).astype(np.float32), r.standard_normal((8, 1, 3)).astype(np.float32)
    found = tw.jit(lambda x: tw.expand_dims(tw.conv1d(x, w, stride=2), 1) * 0.5)(x)
    windows = np.lib.stride_tricks.sliding_window_view(x[:, 0], 3, axis=1)[:, ::2]
    np.testing.assert_allclose(found, np.einsum("nok,mk->nmo", windows, w[:, 0])[:, None] * 0.5, rtol=1e-5, atol=1e-6)
