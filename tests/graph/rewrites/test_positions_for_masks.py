"""Constant masks as positions: the same values, whatever the mask; and no constant left where one or two axes say it all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.operators import mapping
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.masks import PositionsForMasks
from tilewright.graph.types import Constant, Graph, Tensor
from tilewright.graph.verifier import verify


def masked(mask: np.ndarray, letters: str = "ml") -> Graph:
    """x where the mask is true, or x + mask."""
    extents = {"b": 2, **dict(zip(letters, mask.shape, strict=True))}
    body = apply("where", Load(1), Load(0), Literal(float("-inf"))) if mask.dtype == bool else apply("add", Load(0), Load(1))
    shape = (2, *mask.shape)
    operator = mapping("mask", body, [f"x:b{letters}", f"mask:{letters}"], f"y:b{letters}", extents)
    tensors = (Tensor("x", shape), Tensor("mask", mask.shape, str(mask.dtype)), Tensor("y", shape))
    graph = Graph("masked", tensors, (operator,), ("x",), ("y",), (("mask", Constant(mask)),))
    verify(graph)
    return graph


def check(mask: np.ndarray, *, is_said: bool, letters: str = "ml") -> None:
    before = masked(mask, letters)
    after = PositionsForMasks().run(before)
    verify(after)
    assert not after.constants if is_said else after == before
    x = np.random.default_rng(0).standard_normal((2, *mask.shape)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(after, {"x": x})["y"], evaluate(before, {"x": x})["y"])


@pytest.mark.parametrize("shape", [(7, 7), (5, 11), (11, 5)])
@pytest.mark.parametrize("diagonal", [-3, 0, 2])
@pytest.mark.parametrize("is_additive", [False, True])
def test_triangles_and_bands(shape: tuple[int, int], diagonal: int, is_additive: bool) -> None:
    for mask in (np.tri(*shape, diagonal, bool), np.tri(*shape, diagonal, bool) & ~np.tri(*shape, diagonal - 3, bool)):
        additive = np.where(mask, 0, -np.inf).astype(np.float32)
        check(additive if is_additive else mask, is_said=mask.any() and not mask.all())


def test_intervals_of_keys() -> None:
    check(np.arange(9) < 5, is_said=True, letters="l")
    check((np.arange(9) >= 2) & (np.arange(9) < 5), is_said=True, letters="l")
    check(np.broadcast_to(np.arange(9) < 5, (4, 9)).copy(), is_said=True)
    check(np.arange(9) % 2 == 0, is_said=False, letters="l")


def test_other_constants_stay() -> None:
    hole = np.tri(6, dtype=bool)
    hole[4, 2] = False
    check(hole, is_said=False)
    check(np.zeros((3, 4), np.float32), is_said=False)
    check(np.full((3, 4), -np.inf, np.float32), is_said=False)
    check(np.where(np.tri(5), 0, -1e9).astype(np.float32), is_said=False)
    check(np.where(np.tri(5), -0.0, -np.inf).astype(np.float32), is_said=False)


@given(st.data())
def test_any_mask_means_the_same(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    bits = data.draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    mask = np.array(bits).reshape(shape)
    x = np.ones((2, *shape), np.float32)
    np.testing.assert_array_equal(
        evaluate(PositionsForMasks().run(masked(mask)), {"x": x})["y"], evaluate(masked(mask), {"x": x})["y"]
    )


def test_longer_masks_than_positions_are_exact_stay():
    mask = np.zeros(LARGEST_WHOLE + 8, bool)
    mask[: LARGEST_WHOLE + 1] = True
    before = masked(mask, "l")
    assert PositionsForMasks().run(before) == before
