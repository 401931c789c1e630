"""Products with constant left operands: ragged extents, views, shared constants, threads, on every width of vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tests.codegen.test_few_rows import TARGETS
from tests.support.guarded import GuardedMemory, in_child
from tilewright.plan.whole_model import algorithm_choice

EXCHANGED = "exchanged roles"
ZEN5 = pytest.mark.needs("avx512f", "avx512dq", "avx512bw", "avx512vl")


@pytest.fixture
def exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles are exchanged wherever they can be, whatever it costs."""
    applicable = algorithm_choice.applicable

    def preferred(problem, precision):  # type: ignore[no-untyped-def]
        found = applicable(problem, precision)
        return tuple(one for one in found if one.name == EXCHANGED) or found

    monkeypatch.setattr(algorithm_choice, "applicable", preferred)


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def check(found: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    bound = 1e-6 * np.abs(left.astype(np.float64)) @ np.abs(right) + 1e-30
    assert (np.abs(found - left.astype(np.float64) @ right) <= bound).all()


def times(w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: w @ x


@pytest.mark.usefixtures("exchanged")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(1, 1, 1), (17, 13, 2), (63, 31, 3), (65, 257, 4), (129, 101, 6), (200, 37, 7), (64, 64, 16), (47, 509, 33), (130, 5, 64)],
)
def test_ragged_extents(target: str, rows: int, depth: int, columns: int) -> None:
    w, x = values(rows, depth), values(depth, columns, seed=1)
    check(tw.jit(times(w), target=target)(x), w, x)


@pytest.mark.usefixtures("exchanged")
@ZEN5
@pytest.mark.parametrize("columns", [1, 2, 4, 5, 8, 12, 14, 15, 16])
def test_one_pass_and_several_over_panels_that_are_prefetched(columns: int) -> None:
    w, x = values(323, 2100), values(2100, columns, seed=1)
    check(tw.jit(times(w), target="zen5")(x), w, x)


@pytest.mark.usefixtures("exchanged")
@ZEN5
def test_a_deep_product_is_summed_in_slices() -> None:
    w, x = np.full((70, 60_000), 0.1, np.float32), np.full((60_000, 3), 0.1, np.float32)
    found = tw.jit(times(w), target="zen5")(x)
    np.testing.assert_allclose(found, w.astype(np.float64) @ x, rtol=1e-4 / 4)


@pytest.mark.usefixtures("exchanged")
@ZEN5
@pytest.mark.parametrize("columns", [4, 10])
def test_a_deep_product_whose_last_block_is_shorter(columns: int) -> None:
    """Blocks of the depth lie one behind the other, and are summed in slices."""
    w, x = values(300, 24_514), values(24_514, columns, seed=1)
    check(tw.jit(times(w), target="zen5")(x), w, x)


@pytest.mark.usefixtures("exchanged")
@ZEN5
def test_views_as_right_operands() -> None:
    w, x = values(70, 40), values(80, 12, seed=1)
    function = tw.jit(times(w), target="zen5")
    for view in (x[::2, ::3], x[39::-1, ::-2], np.broadcast_to(x[:40, :1], (40, 5)), x.T[:5, :40].T):
        check(function(view), w, view)


@pytest.mark.usefixtures("exchanged")
@ZEN5
def test_nothing_beside_the_operands_is_touched() -> None:
    in_child(_guarded)


def _guarded() -> None:
    for rows, depth, columns in ((70, 33, 5), (64, 16, 16), (3, 7, 19)):
        w, x = values(rows, depth), values(depth, columns, seed=1)
        kernel = tw.jit(times(w), target="zen5").lower(x).compile()
        for at_end in (False, True):
            placed, out = (
                GuardedMemory(4 * size).place(size, at_end=at_end).reshape(shape)
                for size, shape in ((x.size, x.shape), (rows * columns, (rows, columns)))
            )
            placed[:] = x
            check(kernel(placed, out=out), w, x)


@pytest.mark.usefixtures("exchanged")
@ZEN5
def test_a_constant_of_two_products_and_of_a_map() -> None:
    w, x, y = values(100, 100), values(100, 4, seed=1), values(100, 7, seed=2)

    def function(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return w @ x, w @ y, w + x[:, :1]

    first, second, third = tw.jit(function, target="zen5")(x, y)
    check(first, w, x)
    check(second, w, y)
    np.testing.assert_array_equal(third, w + x[:, :1])


@pytest.mark.usefixtures("exchanged")
@ZEN5
@pytest.mark.parametrize("activation", [lambda z: z, tw.relu, tw.gelu])
def test_maps_behind_the_product(activation: Callable[[np.ndarray], np.ndarray]) -> None:
    w, x, bias, residual = values(90, 50), values(50, 9, seed=1), values(90, 1, seed=2), values(90, 9, seed=3)
    found = tw.jit(lambda x, r: activation(w @ x + bias) + r, target="zen5")(x, residual)
    expected = tw.jit(lambda z, r: activation(z) + r, target="zen5")((w @ x + bias).astype(np.float32), residual)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("exchanged")
@ZEN5
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda w, x: tw.einsum("km,kn->mn", w, x), (3, 60, 5)),
        (lambda w, x: tw.einsum("mk,nk->mn", w, x), (3, 5, 60)),
        (lambda w, x: tw.einsum("mk,kn->nm", w, x), (3, 60, 5)),
    ],
)
def test_other_spellings(function: Callable[[np.ndarray, np.ndarray], np.ndarray], shape: tuple[int, ...]) -> None:
    w, x = values(60, 60), values(*shape, seed=1)[0]
    found = tw.jit(lambda x: function(w, x), target="zen5")(x)
    np.testing.assert_allclose(found, function(w.astype(np.float64), x.astype(np.float64)), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("exchanged")
@ZEN5
def test_batches_of_constants() -> None:
    w, x = values(3, 50, 40), values(3, 40, 6, seed=1)
    np.testing.assert_allclose(tw.jit(times(w), target="zen5")(x), w @ x, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("exchanged")
@ZEN5
def test_results_do_not_depend_on_threads() -> None:
    w, x = values(1000, 900), values(900, 6, seed=1)
    first, *others = (tw.jit(times(w), target="zen5", threads=threads)(x) for threads in (1, 2, 5))
    assert all((first == other).all() for other in others)


@ZEN5
def test_both_algorithms_add_in_the_same_order() -> None:
    """Up to the depth of a call, sums have one accumulator, whichever operand lanes run along."""
    w, x = values(640, 500), values(500, 48, seed=1)
    plain = tw.jit(lambda w, x: w @ x, target="zen5")(w, x)
    assert (tw.jit(times(w), target="zen5")(x) == plain).all()
