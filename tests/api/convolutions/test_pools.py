"""Pools: against their definitions, against PyTorch, and the kernels against both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.support import convolutions
from tests.support.convolutions import Case, cases
from tests.support.graphs import random
from tests.support.random.jit.program import in_layout

FUNCTIONS = {"max": tw.max_pool, "avg": tw.avg_pool}
ORACLES = {"max": convolutions.largest, "avg": convolutions.mean}


def function(kind: str, case: Case, **options: Any) -> Any:
    return lambda x: FUNCTIONS[kind](x, case.w, **case.arguments() | options)


@pytest.mark.parametrize("kind", FUNCTIONS)
@settings(max_examples=40)
@given(case=cases("pool"), counts_padding=st.booleans())
def test_the_definition(kind: str, case: Case, counts_padding: bool) -> None:
    if kind == "avg":
        case.options["count_include_pad"] = counts_padding
    x = random(*case.x).astype("f8")
    np.testing.assert_allclose(function(kind, case)(x), ORACLES[kind](case, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", FUNCTIONS)
@given(case=cases("pool", is_symmetric=True), counts_padding=st.booleans())
def test_pytorch_means_the_same(kind: str, case: Case, counts_padding: bool) -> None:
    """PyTorch pads by half a window at most, has no dilated means, and refuses empty batches of some ranks."""
    torch = pytest.importorskip("torch")
    rank, x = len(case.strides), random(max(case.x[0], 1), *case.x[1:]).astype("f8")
    pads = tuple(min(before, k // 2) for (before, _), k in zip(case.pads, case.w, strict=True))
    options = {"stride": case.strides, "padding": pads, "ceil_mode": case.options["ceil_mode"]}
    options |= {"dilation": case.dilations} if kind == "max" else {"count_include_pad": counts_padding}
    try:
        wanted = getattr(torch.nn.functional, f"{kind}_pool{rank}d")(torch.from_numpy(x), case.w, **options)
    except RuntimeError:
        with pytest.raises(tw.ShapeError):
            FUNCTIONS[kind](x, case.w, **options)
        return
    np.testing.assert_allclose(FUNCTIONS[kind](x, case.w, **options), wanted, rtol=1e-12, atol=1e-12)


KERNELS = {
    "3x3 with steps": Case((2, 5, 9, 10), (3, 3), (2, 2), (1, 1), ((1, 1), (1, 1))),
    "uneven": Case((1, 3, 8, 7), (2, 4), (1, 3), (1, 1), ((0, 1), (3, 0))),
    "dilated": Case((1, 3, 11, 12), (3, 2), (2, 1), (2, 3), ((1, 2), (0, 2))),
    "a last window stands out": Case((1, 3, 8, 8), (3, 3), (2, 2), (1, 1), ((0, 0), (1, 1)), 1, {"ceil_mode": True}),
    "steps larger than windows": Case((2, 2, 9, 9), (2, 1), (4, 3), (1, 1), ((0, 0), (0, 0))),
    "one dimension": Case((2, 4, 33), (5,), (2,), (1,), ((2, 2),)),
    "three dimensions": Case((1, 2, 5, 6, 7), (2, 3, 2), (2, 2, 1), (1, 1, 1), ((0, 1), (1, 1), (1, 0))),
    "no image": Case((0, 2, 5, 6), (2, 3), (1, 1), (1, 1), ((0, 0), (0, 0))),
}


@pytest.mark.parametrize("is_last", [False, True], ids=["channels first", "channels last"])
@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("case", KERNELS.values(), ids=list(KERNELS))
def test_kernels(kind: str, case: Case, is_last: bool) -> None:
    x, rank = random(*case.x), len(case.strides)
    wanted = ORACLES[kind](case, x)
    if not is_last:
        np.testing.assert_allclose(tw.jit(function(kind, case))(x), wanted, rtol=1e-5, atol=1e-6)
        return
    last = tw.jit(function(kind, case, layout=f"N{'DHW'[-rank:]}C"))
    found = last(np.ascontiguousarray(np.moveaxis(x, 1, -1)))
    np.testing.assert_allclose(np.moveaxis(found, -1, 1), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["backwards", "with gaps", "transposed", "unaligned"])
def test_views_are_read_as_they_lie(layout: str) -> None:
    case = KERNELS["uneven"]
    for kind in FUNCTIONS:
        jitted, x = tw.jit(function(kind, case)), random(*case.x)
        np.testing.assert_array_equal(jitted(in_layout(x, layout)), jitted(x))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["3x3 with steps", "uneven", "a last window stands out"])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_special_values_stay_in_their_windows(kind: str, name: str, value: float) -> None:
    case = KERNELS[name]
    x = random(*case.x)
    x[0, 0, 0, 0] = x[0, 1, 4, 3] = x[0, 1, -1, -1] = value
    with np.errstate(invalid="ignore"):
        wanted = ORACLES[kind](case, x)
    np.testing.assert_allclose(tw.jit(function(kind, case))(x), wanted, rtol=1e-5, atol=1e-6)


def test_windows_of_nothing_but_minus_infinity() -> None:
    x = np.full((1, 1, 4, 4), -np.inf, np.float32)
    np.testing.assert_array_equal(tw.jit(lambda x: tw.max_pool(x, 3, padding=1))(x), np.full((1, 1, 2, 2), -np.inf))


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_global_pools(shape: tuple[int, ...]) -> None:
    x, spatial = random(*shape), tuple(range(2, len(shape)))
    for function, reference in ((tw.global_max_pool, np.max), (tw.global_avg_pool, np.mean)):
        wanted = reference(x, axis=spatial, keepdims=True)
        np.testing.assert_allclose(function(x), wanted, rtol=1e-6)
        np.testing.assert_allclose(tw.jit(function)(x), wanted, rtol=1e-5, atol=1e-6)
        last = function(np.moveaxis(x, 1, -1), layout=f"N{'DHW'[5 - len(shape) :]}C")
        np.testing.assert_allclose(np.moveaxis(last, -1, 1), wanted, rtol=1e-6)


def test_integers_have_a_largest_element() -> None:
    x = np.array([[[-5, -7, -3]]], np.int16)
    assert tw.max_pool(x, 2, padding=1).tolist() == [[[-5, -3]]]


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding": 1, "stride": 2},
        {"padding": ((0, 2), (1, 0)), "stride": 1},
        {"padding": 1, "stride": 2, "ceil_mode": True},
        {"padding": "same_lower", "stride": 2},
    ],
)
def test_images_of_any_size_share_a_kernel(kind: str, options: dict[str, Any]) -> None:
    jitted = tw.jit(lambda x: FUNCTIONS[kind](x, 3, **options))
    for shape in ((2, 5, 9, 12), (3, 5, 14, 7), (2, 5, 24, 33), (3, 5, 4, 6), (4, 5, 40, 5), (2, 5, 17, 64)):
        x = random(*shape)
        np.testing.assert_allclose(jitted(x), FUNCTIONS[kind](x, 3, **options), rtol=1e-5, atol=1e-6)
    assert len(jitted.kernels) == 2


@pytest.mark.parametrize("options", [{"padding": 1, "ceil_mode": True}, {"padding": "same"}])
def test_means_of_elements_alone_of_any_size_share_a_kernel(options: dict[str, Any]) -> None:
    jitted = tw.jit(lambda x: tw.avg_pool(x, 3, stride=2, count_include_pad=False, **options))
    for shape in ((2, 5, 9, 12), (3, 5, 14, 7), (2, 5, 24, 33), (3, 5, 4, 6)):
        x = random(*shape)
        wanted = tw.avg_pool(x, 3, stride=2, count_include_pad=False, **options)
        np.testing.assert_allclose(jitted(x), wanted, rtol=1e-5, atol=1e-6)
    assert len(jitted.kernels) == 2
