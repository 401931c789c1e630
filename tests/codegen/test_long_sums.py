"""Sums of many values: their errors stay below the bound of `decisions.long_sums`, along every axis, in every type and length."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.typed import Graphs, run
from tilewright.block.execution import Sums
from tilewright.block.statements import VectorLoops
from tilewright.graph.builders.elementwise import reduce
from tilewright.render.c.program import lower_program

TARGETS = ["x86-64-v2", pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma"))]
FOLDING = 2 + math.log2(4 * 16)
"""Roundings that a sum's accumulators and lanes, and its total, add to those of a block."""
PRODUCER, FINISH = 4, 2
"""Roundings of a value before it is summed, and of what becomes of a sum."""
UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
SHAPES = [
    ((200_003,), (0,)),
    ((200_003, 1), (0,)),
    ((100_003, 3), (0,)),
    ((20_001, 21), (0,)),
    ((5, 66_001), (1,)),
    ((20_001, 3), (0, 1)),
    ((301, 2, 167), (0, 2)),
    ((67, 3, 5, 300), (0, 2, 3)),
    ((2, 33_000, 7), (1,)),
]


def bound(of: str = "float32") -> float:
    return (2 * Sums().block_steps + FOLDING + PRODUCER + FINISH) * UNIT[of]


def values(shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Of one sign: the relative error is then bounded. Roundings of equal values all go one way."""
    random = np.random.default_rng(0).random(shape, np.float32)
    return random if kind == "random" else np.full(shape, 0.1, np.float32)


def check(function: Callable[..., Any], x: np.ndarray, target: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(tw.jit(function, target=target)(x), expected, rtol=bound())


@pytest.mark.parametrize("kind", ["random", "equal"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_sums_along_any_axes(shape: tuple[int, ...], axes: tuple[int, ...], target: str, kind: str) -> None:
    x = values(shape, kind)
    check(lambda x: tw.sum(x, axis=axes), x, target, x.sum(axis=axes, dtype="f8"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(3, 70_001), (40_001, 5)])
def test_sums_of_what_is_computed_on_the_way(shape: tuple[int, ...], target: str) -> None:
    axis = int(np.argmax(shape))
    x = values(shape, "equal")
    wide = x.astype("f8")
    check(lambda x: tw.mean(x * x, axis=axis), x, target, (wide * wide).mean(axis))
    check(lambda x: tw.sum(tw.exp(x), axis=axis), x, target, np.exp(wide).sum(axis))
    check(lambda x: tw.sqrt(tw.sum(tw.square(x), axis=axis)), x, target, np.sqrt((wide * wide).sum(axis)))


@pytest.mark.parametrize("target", TARGETS)
def test_totals_of_row_operators(target: str) -> None:
    """Whose later passes read what the first ones have summed."""
    x = values((5, 70_001), "random")
    wide = x.astype("f8")
    powers = np.exp(wide - wide.max(1, keepdims=True))
    check(lambda x: tw.softmax(x, axis=1), x, target, powers / powers.sum(1, keepdims=True))
    check(lambda x: tw.rms_norm(x, x.shape[1], None, 1e-5), x, target, wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5))
    deviation = np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    normal = tw.jit(lambda x: tw.layer_norm(x, x.shape[1]), target=target)(x)
    np.testing.assert_allclose(normal, (wide - wide.mean(1, keepdims=True)) / deviation, rtol=bound(), atol=2 * bound())


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_that_only_a_call_knows(target: str) -> None:
    n, m = tw.Dim("n", 0, 1 << 20), tw.Dim("m", 0, 1 << 20)
    lowered = tw.jit(lambda x: (tw.sum(x, axis=0), tw.sum(x, axis=1), tw.sum(x)), target=target).lower(tw.spec((n, m)))
    kernel = lowered.compile()
    for shape in ((0, 3), (3, 0), (1, 1), (64, 17), (257, 65), (3, 40_001), (40_001, 3), (300, 301)):
        x = values(shape, "equal")
        for got, axes in zip(kernel(x), (0, 1, (0, 1)), strict=True):
            np.testing.assert_allclose(got, x.sum(axis=axes, dtype="f8"), rtol=bound())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize(("shape", "axes"), [((5, 40_001), (1,)), ((40_001, 5), (0,)), ((20_001, 3), (0, 1))])
def test_every_type_of_floats(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, target: str) -> None:
    """Halves are summed as float32, and rounded once; doubles in plain loops."""
    x = np.full(shape, 0.1).astype(dtype)
    graphs = Graphs()
    graphs.add(reduce, "mean", graphs.input(x), axes)
    (got,) = run(graphs.graph(), graphs.values, target)
    exact = math.fsum(map(float, x.reshape(-1))) / x.size
    allowed = bound("float64") if dtype == "float64" else bound() + float(np.finfo(np.float32).eps)
    allowed += 2.0**-11 if dtype == "float16" else 2.0**-8 if dtype == "bfloat16" else 0
    np.testing.assert_allclose(got.astype("f8"), exact, rtol=allowed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(1, 20_000), (20_000, 1), (20_000, 17)])
def test_sums_that_are_not_finite(shape: tuple[int, ...], target: str) -> None:
    """What an addition rounds away is not a number there, and does not count."""
    total = tw.jit(lambda x: tw.sum(x, axis=(0, 1)), target=target)
    one = np.ones(shape, np.float32)
    for place in (3, one.size // 2, one.size - 1):
        for special in (np.inf, -np.inf, np.nan):
            x = one.copy()
            x.reshape(-1)[place] = special
            np.testing.assert_array_equal(total(x), np.float32(special))
    opposite = one.copy()
    opposite.reshape(-1)[[0, -1]] = np.inf, -np.inf
    assert np.isnan(total(opposite))
    assert total(one * np.float32(3e38)) == np.inf


@pytest.mark.needs("avx2", "fma")
def test_long_sums_have_the_same_bits_with_any_number_of_threads() -> None:
    x = values((20_001, 200), "random")
    one, two = (tw.jit(lambda x: tw.mean(x, axis=0), target="x86-64-v3", threads=threads)(x) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("length", "is_cut"), [(4096, False), (4097, True)])
def test_short_sums_are_left_in_one_piece(length: int, is_cut: bool) -> None:
    lowered = tw.jit(lambda x: tw.softmax(x, axis=-1), target="x86-64-v4").lower(tw.spec((8, length)))
    nodes = [node for region in lower_program(lowered.model_plan).regions for node in region.nodes()]
    assert [node.block_steps > 0 for node in nodes if isinstance(node, VectorLoops)] == [is_cut]
