"""Index expressions: whatever is simplified keeps its value."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.support.indices import by_natural_division
from tilewright.graph.expressions.index import Index, axis, constant, floordiv, mod, with_natural_dividends

EXTENTS = {"i": 3, "j": 4, "k": 5}


def points() -> list[dict[str, int]]:
    return [dict(zip(EXTENTS, values, strict=True)) for values in itertools.product(*(range(e) for e in EXTENTS.values()))]


@st.composite
def indices(draw: st.DrawFn, depth: int = 2) -> Index:
    result = constant(draw(st.integers(-6, 6)))
    for name in draw(st.sets(st.sampled_from(sorted(EXTENTS)))):
        result = result + axis(name) * draw(st.integers(-8, 8))
    if depth and draw(st.booleans()):
        inner, divisor = draw(indices(depth - 1)), draw(st.integers(1, 9))
        result = result + (floordiv if draw(st.booleans()) else mod)(inner, divisor, EXTENTS) * draw(st.integers(-3, 3))
    return result


@given(indices(), st.integers(1, 12))
def test_division_and_remainder_keep_their_values_when_they_are_simplified(index: Index, divisor: int) -> None:
    quotient, remainder = floordiv(index, divisor, EXTENTS), mod(index, divisor, EXTENTS)
    for point in points():
        assert quotient.evaluate(point) == index.evaluate(point) // divisor
        assert remainder.evaluate(point) == index.evaluate(point) % divisor


@given(indices())
def test_dividends_become_natural_numbers(index: Index) -> None:
    natural = with_natural_dividends(index, EXTENTS)
    for point in points():
        assert by_natural_division(natural, point) == index.evaluate(point)


def test_quotients_of_natural_numbers_stay_as_they_are() -> None:
    index = floordiv(axis("i") * 3 + axis("j") + 1, 7) * 2 + mod(axis("k") * 3, 4)
    assert with_natural_dividends(index, EXTENTS) == index


@given(indices())
def test_bounds_enclose_every_value(index: Index) -> None:
    low, high = index.bounds(EXTENTS)
    values = [index.evaluate(point) for point in points()]
    assert low <= min(values)
    assert max(values) <= high
    if index.is_affine():
        assert (low, high) == (min(values), max(values))


@given(indices(), indices(depth=1), indices(depth=1))
def test_substitution_is_composition(index: Index, first: Index, second: Index) -> None:
    replaced = index.substitute({"i": first, "k": second}, EXTENTS)
    for point in points():
        inner = {"i": first.evaluate(point), "j": point["j"], "k": second.evaluate(point)}
        assert replaced.evaluate(point) == index.evaluate(inner)


@given(indices())
def test_renaming_substitutes_axes_for_axes(index: Index) -> None:
    names = {"i": "k", "j": "i", "k": "j"}
    assert index.renamed(names) == index.substitute({old: axis(new) for old, new in names.items()})


def test_a_split_undoes_a_merge() -> None:
    extents = {"h": 12, "d": 64}
    merged = axis("h") * 64 + axis("d")
    assert floordiv(merged, 64, extents) == axis("h")
    assert mod(merged, 64, extents) == axis("d")


def test_equal_sums_are_equal_whatever_the_order() -> None:
    assert axis("b") + axis("a") * 2 - axis("b") == axis("a") * 2
    assert str(axis("b") * 2 + axis("a") - 1) == "a + 2*b + -1"
