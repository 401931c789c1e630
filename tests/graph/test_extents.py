"""Extents beside the evaluation of the same formula by Python's integers, at every value of small ranges."""

import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.block.integers import Variable, VariableKind, evaluated
from tilewright.c_text import names
from tilewright.errors import UnsupportedOperation
from tilewright.graph.expressions.dimensions import substituted
from tilewright.graph.expressions.extents import (
    SymbolicExtent,
    ceil_quotient,
    compared,
    dimensions_of,
    exact_quotient,
    is_less,
    maximum,
    minimum,
    minus,
    plus,
    quotient,
    range_of,
    remainder,
    times,
    value_of,
)
from tilewright.lower.arguments import value_of_formula

DIMENSIONS = {name: SymbolicExtent(name, low, high, high) for name, low, high in (("a", 0, 4), ("b", 1, 3), ("c", 2, 5))}
POINTS = [
    dict(zip(DIMENSIONS, values, strict=True))
    for values in itertools.product(*(range(d.low, d.high + 1) for d in DIMENSIONS.values()))
]
FUNCTIONS = {
    "+": (plus, operator.add),
    "-": (minus, operator.sub),
    "*": (times, operator.mul),
    "min": (minimum, min),
    "max": (maximum, max),
    "//": (quotient, operator.floordiv),
    "ceil": (ceil_quotient, lambda x, y: -(-x // y)),
    "%": (remainder, operator.mod),
}
leaves = st.one_of(st.integers(-6, 9), st.sampled_from(sorted(DIMENSIONS)))
trees = st.recursive(leaves, lambda inner: st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner, inner), max_leaves=6)


def _built(tree):
    """The extent of a tree; None where a divisor may be less than 1."""
    if isinstance(tree, tuple):
        first, second = map(_built, tree[1:])
        if first is None or second is None:
            return None
        try:
            return FUNCTIONS[tree[0]][0](first, second)
        except UnsupportedOperation:
            return None
    return DIMENSIONS.get(tree, tree)


def _value(tree, point):
    if isinstance(tree, tuple):
        return FUNCTIONS[tree[0]][1](*(_value(part, point) for part in tree[1:]))
    return point.get(tree, tree)


@given(trees)
def test_extents_have_the_value_of_their_formula_inside_of_their_range(tree):
    extent = _built(tree)
    if extent is None:
        return
    low, high = range_of(extent)
    for point in POINTS:
        assert value_of(extent, point) == _value(tree, point)
        assert low <= value_of(extent, point) <= high


@given(trees, trees)
def test_equal_extents_have_equal_values_and_what_is_said_of_two_holds_for_all_values(left, right):
    first, second = _built(left), _built(right)
    if first is None or second is None:
        return
    pairs = [(_value(left, point), _value(right, point)) for point in POINTS]
    signs = {(x > y) - (x < y) for x, y in pairs}
    if first == second:
        assert signs == {0}
    if compared(first, second) is not None:
        assert signs == {compared(first, second)}
    if is_less(first, second):
        assert signs == {-1}
    whole = exact_quotient(first, second)
    if whole is not None:
        assert all(x == y * value_of(whole, point) for (x, y), point in zip(pairs, POINTS, strict=True))


@given(trees, trees)
def test_sums_and_products_have_one_form_in_whatever_order_they_are_built(left, right):
    first, second = _built(left), _built(right)
    if first is None or second is None:
        return
    assert plus(first, second) == plus(second, first)
    assert times(first, second) == times(second, first)
    assert times(first, plus(second, 3)) == plus(times(first, second), times(3, first))
    assert minus(plus(first, second), second) == first


@given(trees, st.sampled_from(sorted(DIMENSIONS)), st.data())
def test_substitution(tree, name, data):
    extent = _built(tree)
    if extent is None:
        return
    dimension = DIMENSIONS[name]
    value = data.draw(st.integers(dimension.low, dimension.high))
    fixed = substituted(extent, {name: value})
    assert name not in dimensions_of([fixed])
    assert all(value_of(fixed, point) == value_of(extent, point) for point in POINTS if point[name] == value)


@given(trees, trees)
def test_the_text_is_a_formula_of_the_same_value_and_its_variable_no_other_s(left, right):
    first, second = _built(left), _built(right)
    if not isinstance(first, SymbolicExtent) or not isinstance(second, SymbolicExtent):
        return
    assert all(eval(str(first), {"min": min, "max": max}, point) == value_of(first, point) for point in POINTS)
    assert (names.extent(first.name) == names.extent(second.name)) == (first == second)
    assert names.extent(first.name).isidentifier()


@given(trees)
def test_generated_code_computes_the_same(tree):
    extent = _built(tree)
    if extent is not None:
        variables = {name: Variable(VariableKind.EXTENT, name) for name in DIMENSIONS}
        value = value_of_formula(extent, variables)
        for point in POINTS:
            assert evaluated(value, {variables[name]: number for name, number in point.items()}) == value_of(extent, point)


def test_divisions_by_what_may_be_zero_are_refused():
    with pytest.raises(UnsupportedOperation, match="a division by a, which may be 0"):
        quotient(8, DIMENSIONS["a"])
    assert exact_quotient(times(DIMENSIONS["a"], 2), DIMENSIONS["a"]) == 2


def test_sums_know_their_value_and_range():
    a, b = DIMENSIONS["a"], DIMENSIONS["b"]
    total = plus(a, b, -1)
    assert (str(total), range_of(total)) == ("a + b - 1", (0, 6))
    assert value_of(total, {"a": 4, "b": 3}) == 6
    assert minus(total, b) == plus(a, -1)
    assert plus(a, 0) == a
