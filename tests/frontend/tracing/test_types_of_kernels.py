"""Kernels of traced functions in every element type: results have the types and the values that the graphs have."""

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.support.typed_functions import OF_ONE, OF_TWO, TYPES, values_of, wrong_kernels
from tilewright.dtypes import dtype_named
from tilewright.frontend.tracing.element_types import KNOWN
from tilewright.graph.exactness import SHORT_TYPES

ALONE = ("bool", "int8", "uint32", "float16", "float64")
PAIRS = (("bool", "float16"), ("int8", "uint8"), ("int32", "float32"), ("uint64", "int16"), ("float64", "int64"))
COMPILED = ("int8", "float16")
CONVERTED = ("float32", "float64", "float16", "int64", "uint8", "int4", "float8_e4m3fn")


def marked(every: Any, quick: Any) -> list[Any]:
    """All cases, of which some run always."""
    return [one if one in quick else pytest.param(one, marks=pytest.mark.ci) for one in every]


@pytest.mark.parametrize("name", marked(TYPES, ALONE))
@pytest.mark.filterwarnings("ignore")
def test_functions_of_one_array(name: str) -> None:
    assert wrong_kernels(OF_ONE, [values_of(name, (19, 19), 0)], compiled=name in COMPILED) == []


@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
@pytest.mark.filterwarnings("ignore")
def test_functions_of_two_arrays(names: tuple[str, str]) -> None:
    assert wrong_kernels(OF_TWO, [values_of(name, (19, 19), seed) for seed, name in enumerate(names)]) == []


@pytest.mark.parametrize("names", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8"), ("int16", "int16")], ids=" and ".join)
def test_products_of_short_integers_are_summed_in_int32(names: tuple[str, str]) -> None:
    x, w = (values_of(name, shape, 0) for name, shape in zip(names, ((35, 130), (130, 33)), strict=True))
    x[:3], w[:, :3], w[:, 3:5] = np.iinfo(x.dtype).max, np.iinfo(w.dtype).max, np.iinfo(w.dtype).min
    found = tw.jit(lambda x, w: x.astype(np.int32) @ w.astype(np.int32), threads=1)(x, w)
    np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32))


def edges(name: str) -> Any:
    """The least and the largest integers, or numbers that are rounded, and what int64 does not hold."""
    dtype = dtype_named(name)
    if name == "bool":
        return np.array([False, True])
    if "int" in name:
        limits = ml_dtypes.iinfo(dtype)
        whole = [0, 1, int(limits.min), int(limits.max), int(limits.max) // 3]
        return np.array(whole, np.int8 if name in SHORT_TYPES else dtype).astype(dtype)
    numbers = [0, 1, -1, 0.5, -0.5, 2.5, -2.7, 3.99, 100.3, 127, 255, 1.0009765625 + 2.0**-13, 65519, 6e-8, 1e-40, 3.4e38]
    return np.array([*numbers, 2.0**24 + 1, 2.0**53 - 1, -np.inf, np.nan]).astype(dtype)


def are_held(name: str, x: Any) -> Any:
    """Which numbers have a whole part that a type of integers holds."""
    if "int" not in name:
        return np.ones(x.shape, bool)
    whole, limits = np.trunc(x.astype(float)), ml_dtypes.iinfo(dtype_named(name))
    return (whole >= int(limits.min)) & (whole <= int(limits.max))


@pytest.mark.parametrize("source", marked(sorted(KNOWN), CONVERTED))
@pytest.mark.filterwarnings("ignore")
def test_conversions_are_those_of_numpy(source: str) -> None:
    x = edges(source)
    wide = x.astype(np.float32) if source in SHORT_TYPES else x  # not all of these have conversions into one another
    targets = sorted(KNOWN)
    function = tw.jit(lambda x: [x.astype(dtype_named(target)) for target in targets], threads=1)
    for target, found, meant in zip(targets, function(x), function(x, interpret=True), strict=True):
        expected = wide.astype(dtype_named(target))
        is_same = np.ones(x.shape, bool) if "int" in source else are_held(target, x)
        for result in (found, meant):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result[is_same].astype(float), expected[is_same].astype(float), err_msg=target)


def test_integers_keep_their_low_bits() -> None:
    x = np.array([-1, 300, 2**24 + 1, 2**40 + 5, -(2**63)])
    for name in ("int8", "uint8", "int32", "uint32", "uint64"):
        assert tw.jit(lambda x, name=name: x.astype(name))(x).tolist() == x.astype(name).tolist()
    assert tw.jit(lambda x: x.astype("int4"))(x).tolist() == [-1, -4, 1, 5, 0]


def test_numbers_that_a_type_does_not_hold_are_true() -> None:
    for number in (-1, 300, 2**70, 0.5, np.nan, 0):
        for dtype in ("uint32", "uint64", "uint8", "float16"):
            x = np.array([0, 1, 5], dtype)
            found = tw.jit(lambda x, n=number: (np.logical_and(x, n), np.logical_or(n, x)))(x)
            assert [one.tolist() for one in found] == [
                (x != 0).tolist() if number else [False] * 3,
                ((x != 0) | bool(number)).tolist(),
            ]


def test_numbers_are_as_long_as_the_arrays_beside_them() -> None:
    scaled = tw.jit(lambda x, factor: x * factor)
    for dtype, result in (("float64", "float64"), ("float32", "float32"), ("int8", "float32")):
        x = np.ones(3, dtype)
        for found in (scaled(x, 0.1), scaled(x, 0.1, interpret=True), scaled(x, np.float64(0.1))):
            assert found.dtype == np.dtype(result)
            assert found[0] == np.array(0.1, result)
    for function in (operator.mul, lambda x, n: x + (n * 2 + 1), lambda x, n: np.einsum("i,->i", x, n)):
        with pytest.raises(tw.DTypeError, match="of int64 elements and the number"):
            tw.jit(lambda x, n, f=function: f(x, n))(np.arange(3), 2)
    assert tw.jit(lambda x, n: np.where(x > n, n, 0.0))(np.arange(4), 1.5).tolist() == [0, 0, 1.5, 1.5]
    assert tw.jit(lambda x, n: x * n)(np.arange(3), np.asarray(3)).dtype == np.int64


def test_tensors_of_torch_keep_their_types() -> None:
    torch = pytest.importorskip("torch")
    double = tw.jit(lambda x: x + x, threads=1)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8):
        found = double(torch.full((5,), 3, dtype=dtype))
        assert (found.dtype, found.tolist()) == (dtype, [6] * 5)
    short = torch.full((3,), 1.5).to(torch.float8_e5m2)
    found = tw.jit(lambda x: x)(short)
    assert (found.dtype, found.float().tolist()) == (short.dtype, [1.5] * 3)
    weights = short.bfloat16()
    found = tw.jit(lambda x: weights * x)(weights)
    assert (found.dtype, found.tolist()) == (weights.dtype, [2.25] * 3)
    truth = tw.jit(lambda x: ~x)(torch.tensor([True, False]))
    assert (truth.dtype, truth.tolist()) == (torch.bool, [False, True])


def test_results_go_into_arrays_of_their_type() -> None:
    function, out = tw.jit(lambda x: (x.sum(), x > 1)), (np.zeros((), np.int64), np.zeros(3, bool))
    assert function(np.arange(3, dtype=np.int8), out=out)[0] == 3
    assert out[1].tolist() == [False, False, True]
    with pytest.raises(tw.DTypeError, match="argument out"):
        function(np.arange(3, dtype=np.int8), out=(np.zeros((), np.float32), out[1]))
