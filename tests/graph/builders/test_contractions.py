"""Einsum and matmul: their operators mean what NumPy says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import random, run
from tilewright.errors import ShapeError
from tilewright.graph.builders import einsum
from tilewright.graph.builders.diagonals import diagonal
from tilewright.graph.types import SymbolicExtent, Tensor

SIZES = {"b": 2, "i": 3, "j": 4, "k": 5, "l": 1, "m": 6}


@st.composite
def subscripts(draw: st.DrawFn) -> str:
    letters = st.permutations(sorted(SIZES))
    first = "".join(draw(letters)[: draw(st.integers(0, 4))])
    second = "".join(draw(letters)[: draw(st.integers(0, 4))])
    every = sorted(set(first + second))
    result = "".join(draw(st.permutations(every))[: draw(st.integers(0, len(every)))])
    return f"{first},{second}" + draw(st.sampled_from(["", f"->{result}"]))


@given(subscripts())
def test_any_two_operand_einsum_means_what_numpy_says(text: str) -> None:
    parts = text.split("->")[0].split(",")
    arrays = [random(*(SIZES[letter] for letter in part), seed=seed) for seed, part in enumerate(parts)]
    tensors = [Tensor(name, array.shape) for name, array in zip("xy", arrays, strict=True)]
    built = einsum.einsum(text, tensors, name="product", result="out")
    expected = np.einsum(text, *(array.astype(np.float64) for array in arrays))
    actual = run(built, tensors, dict(zip("xy", arrays, strict=True)), "float64")
    assert actual.shape == expected.shape == built[1].shape
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "shape"), [("ij->ji", (2, 3)), ("ijk->ik", (2, 3, 4)), ("...i->i...", (2, 3, 4)), ("ij->", (3, 3)), ("ba", (2, 3))]
)
def test_one_operand_is_an_index_change_or_a_sum(text: str, shape: tuple[int, ...]) -> None:
    x = random(*shape)
    tensor = Tensor("x", shape)
    operator, result = einsum.einsum(text, [tensor], name="one", result="out")
    assert operator.is_index_change() or operator.is_row_reduction()
    np.testing.assert_allclose(run((operator, result), [tensor], {"x": x}, "float64"), np.einsum(text, x.astype("f8")))


@pytest.mark.parametrize("text", ["...ij,...jk->...ik", "...ij,jk", "i...,...i->...", "ij...,jk...->ik..."])
def test_ellipsis(text: str) -> None:
    shapes = {
        "...ij,...jk->...ik": ((7, 1, 2, 3), (4, 3, 5)),
        "...ij,jk": ((7, 2, 3), (3, 5)),
        "i...,...i->...": ((3, 4), (2, 4, 3)),
        "ij...,jk...->ik...": ((2, 3, 4), (3, 5, 4)),
    }[text]
    arrays = [random(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    tensors = [Tensor(name, array.shape) for name, array in zip("xy", arrays, strict=True)]
    actual = run(einsum.einsum(text, tensors, name="e", result="out"), tensors, dict(zip("xy", arrays, strict=True)))
    np.testing.assert_allclose(actual, np.einsum(text, *arrays), rtol=1e-4, atol=1e-5)


def test_the_products_of_attention_are_contractions_with_the_users_axes() -> None:
    q, k = Tensor("q", (2, 3, 4)), Tensor("k", (2, 4, 5))
    operator, _ = einsum.einsum("bmk,bkl->bml", [q, k], name="scores", result="s")
    assert operator.is_contraction()
    assert [axis.name for axis in operator.axes] == ["b", "m", "k", "l"]
    assert [axis.name for axis in operator.reduction_axes()] == ["k"]


def test_an_extent_of_one_is_read_at_index_zero() -> None:
    operator, result = einsum.einsum("ij,jk->ik", [Tensor("x", (2, 1)), Tensor("y", (3, 4))], name="e", result="out")
    assert str(operator.reads[0].indices[1]) == "0"
    assert result.shape == (2, 4)
    assert operator.is_contraction()


def test_symbolic_extents_pass_through() -> None:
    s = SymbolicExtent("s", 1, 64, 16)
    _, result = einsum.einsum("bsk,kn->bsn", [Tensor("x", (2, s, 8)), Tensor("w", (8, 4))], name="e", result="out")
    assert result.shape == (2, s, 4)


@pytest.mark.parametrize(
    ("shapes", "why"),
    [(((2, 3), (4, 5)), "3 != 4"), (((), (3,)), "0-d"), (((2, 3, 4), (5, 4, 6)), "do not broadcast")],
)
def test_matmul_says_why_shapes_do_not_fit(shapes: tuple[tuple[int, ...], ...], why: str) -> None:
    with pytest.raises(ShapeError, match=why):
        einsum.matmul(Tensor("x", shapes[0]), Tensor("y", shapes[1]), name="p", result="out")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((2, 0), (0, 3)),
    ],
)
def test_matmul_follows_the_array_api(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = random(*left), random(*right, seed=1)
    tensors = [Tensor("x", left), Tensor("y", right)]
    built = einsum.matmul(*tensors, name="p", result="out")
    np.testing.assert_allclose(run(built, tensors, {"x": x, "y": y}), np.matmul(x, y), rtol=1e-4, atol=1e-5)


def test_extents_of_a_diagonal_are_equal() -> None:
    """1 does not broadcast inside one operand."""
    with pytest.raises(ShapeError, match="extents 4 and 1"):
        diagonal(Tensor("x", (4, 1)), ("i", "i"), name="diagonal", result="y")


@pytest.mark.parametrize(
    ("text", "ranks", "message"),
    [
        ("ij,jk->ik", [2], "name 2 operands"),
        ("ij->i", [3], "does not fit"),
        ("ij->ik", [2], "'k' is in no operand"),
        ("ij->ii", [2], "stands twice"),
        ("...i->i", [2], "lacks the ellipsis"),
        ("i!->i", [2], "'!' is not an index"),
    ],
)
def test_subscripts_that_make_no_sense(text: str, ranks: list[int], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        einsum.parse(text, ranks)


def test_more_operands_are_folded_from_the_left() -> None:
    steps = einsum.pairwise(einsum.parse("ij,jk,kl,lm->im", [2, 2, 2, 2]))
    assert [step.text() for step in steps] == ["ij,jk->ik", "ik,kl->il", "il,lm->im"]
