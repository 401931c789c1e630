"""Maps and index changes: broadcasting, transposes, reshapes and slices as index maps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import random, run
from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.builders import elementwise, reshape, slicing
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.types import Extent, Operator, SymbolicExtent, Tensor

NAMES = sorted([*FUNCTIONS, *elementwise.COMPOSITES])


def operand_count(function: str) -> int:
    composites = {"clip": 3, "logical_and": 2, "logical_or": 2}
    return FUNCTIONS[function].arity if function in FUNCTIONS else composites.get(function, 1)


@pytest.mark.parametrize("function", NAMES)
def test_every_function_means_what_numpy_says(function: str) -> None:
    arrays = [random(2, 3, seed=seed) for seed in range(operand_count(function))]
    if function == "where":
        arrays[0] = (arrays[0] > 0).astype(np.float32)
    if "bitwise" in function or "shift" in function:
        arrays = [np.abs(array * 9).astype(np.int32) for array in arrays]
    tensors = [Tensor(f"x{number}", (2, 3), array.dtype.name) for number, array in enumerate(arrays)]
    built = elementwise.elementwise(elementwise.body_of(function), tensors, name="f", result="out")
    actual = run(built, tensors, {t.name: a for t, a in zip(tensors, arrays, strict=True)})
    np.testing.assert_allclose(actual, elementwise.numpy_reference(function)(*arrays), rtol=1e-6)


def test_relu_sigmoid_and_silu_by_their_formulas() -> None:
    x = np.array([-200.0, -1.0, 0.0, 3.0, 200.0])
    np.testing.assert_allclose(elementwise.numpy_reference("relu")(x), np.maximum(x, 0))
    np.testing.assert_allclose(elementwise.numpy_reference("sigmoid")(x), 1 / (1 + np.exp(-x)))
    np.testing.assert_allclose(elementwise.numpy_reference("silu")(x), x / (1 + np.exp(-x)))


dims = st.lists(st.sampled_from([1, 2, 3]), max_size=3)


@given(dims, dims)
def test_broadcasting_is_numpys(first: list[int], second: list[int]) -> None:
    x, y = random(*first), random(*second, seed=1)
    tensors = [Tensor("x", x.shape), Tensor("y", y.shape)]
    try:
        expected = x - y
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            elementwise.elementwise(elementwise.body_of("subtract"), tensors, name="f", result="out")
        return
    built = elementwise.elementwise(elementwise.body_of("subtract"), tensors, name="f", result="out")
    np.testing.assert_array_equal(run(built, tensors, {"x": x, "y": y}), expected)


def test_a_broadcast_operand_does_not_depend_on_the_axis() -> None:
    operator, _ = elementwise.elementwise(
        elementwise.body_of("add"), [Tensor("x", (4, 5)), Tensor("row", (1, 5))], name="f", result="out"
    )
    assert operator.reads[1].axes() == {"d1"}


@given(st.permutations([0, 1, 2]))
def test_transpose_is_numpys(order: list[int]) -> None:
    x = random(2, 3, 4)
    tensor = Tensor("x", x.shape)
    built = reshape.transpose(tensor, order, name="t", result="out")
    assert built[0].is_index_change()
    np.testing.assert_array_equal(run(built, [tensor], {"x": x}), x.transpose(order))


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    primes = draw(st.lists(st.sampled_from([1, 2, 3, 5]), max_size=4))

    def grouped() -> tuple[int, ...]:
        at = sorted(draw(st.lists(st.integers(0, len(primes)), max_size=3)))
        edges = [0, *at, len(primes)]
        return tuple(math.prod(primes[low:high]) for low, high in itertools.pairwise(edges))

    return grouped(), grouped()


def read_at(x: Tensor, shape: Sequence[Extent], places: Sequence[reshape.Place]) -> tuple[Operator, Tensor]:
    builder = Builder("f")
    result = reshape.read_at(builder.record, x, shape, places, "copy")
    return builder.operators[-1], result


def reshaped(x: Tensor, shape: tuple[Extent, ...]) -> tuple[Operator, Tensor]:
    return read_at(x, *reshape.places(x.shape, shape))


def sliced(x: Tensor, key: tuple[slicing.Key, ...]) -> tuple[Operator, Tensor]:
    return read_at(x, *slicing.places(x, key))


@given(reshapes())
def test_reshape_is_numpys(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    old, new = shapes
    x = np.arange(math.prod(old), dtype=np.float32).reshape(old)
    tensor = Tensor("x", old)
    np.testing.assert_array_equal(run(reshaped(tensor, new), [tensor], {"x": x}), x.reshape(new))


@pytest.mark.parametrize(("old", "new"), [((6, 4), (4, 6)), ((2, 3, 4), (4, 3, 2)), ((0, 3), (3, 0)), ((12,), (2, -1, 3))])
def test_reshape_across_dimensions(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    x = np.arange(math.prod(old), dtype=np.float32).reshape(old)
    tensor = Tensor("x", old)
    np.testing.assert_array_equal(run(reshaped(tensor, new), [tensor], {"x": x}), x.reshape(new))


def test_splitting_a_dimension_is_affine_and_merging_is_not() -> None:
    split, _ = reshaped(Tensor("x", (5, 768)), (5, 12, 64))
    merge, _ = reshaped(Tensor("x", (5, 12, 64)), (5, 768))
    assert split.reads[0].is_affine()
    assert [str(index) for index in merge.reads[0].indices] == ["d0", "(d1)//64", "(d1)%64"]


def test_a_symbolic_extent_stays_a_dimension() -> None:
    s = SymbolicExtent("s", 1, 64, 16)
    tensor = Tensor("x", (2, s, 12))
    _, result = reshaped(tensor, (2, -1, 3, 4))
    assert result.shape == (2, s, 3, 4)
    x = random(2, 7, 12)
    built = reshaped(tensor, (1, 2, s, 3, 4))
    np.testing.assert_array_equal(run(built, [tensor], {"x": x}), x.reshape(1, 2, 7, 3, 4))
    for wrong in ((5, -1), (2, 11, s)):
        with pytest.raises(ShapeError, match="cannot reshape"):
            reshaped(tensor, wrong)


@pytest.mark.parametrize("new", [(5,), (-1, -1), (4, -1), (2, 4)])
def test_reshapes_that_do_not_fit(new: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="cannot reshape"):
        reshaped(Tensor("x", (2, 3)), new)


@pytest.mark.parametrize(
    "key",
    [
        (0,),
        (-1, 2),
        (slice(1, None), slice(None, None, 2)),
        (slice(None, None, -1),),
        (Ellipsis, 3),
        (None, slice(2, 1), None),
        (slice(-3, 100, 3), Ellipsis, None, slice(4, 0, -2)),
    ],
)
def test_basic_indexing_is_numpys(key: tuple[slicing.Key, ...]) -> None:
    x = random(4, 3, 5)
    tensor = Tensor("x", x.shape)
    built = sliced(tensor, key)
    np.testing.assert_array_equal(run(built, [tensor], {"x": x}), x[key])


def test_indexing_that_is_not_basic() -> None:
    with pytest.raises(UnsupportedOperation, match="indexing by a ndarray"):
        sliced(Tensor("x", (4,)), (np.array([0, 1]),))  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="index 4 is outside"):
        sliced(Tensor("x", (4,)), (4,))
    with pytest.raises(ShapeError, match="too many indices"):
        sliced(Tensor("x", (4,)), (0, 0))
