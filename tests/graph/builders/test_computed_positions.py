"""Reshapes and slices of run-time extents beside NumPy's, at every value of small ranges."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.typed import run
from tilewright.errors import ShapeError, TilewrightError, Undecided
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import SymbolicExtent, dimensions_of, minus, plus, quotient, times, value_of
from tilewright.graph.interpreter import evaluate
from tilewright.graph.verifier import verify

S, T = SymbolicExtent("s", 1, 4, 4), SymbolicExtent("t", 1, 3, 3)
VALUES = [{"s": s, "t": t} for s, t in itertools.product(range(1, 5), range(1, 4))]


def _fixed(extents, values):
    return tuple(value_of(extent, values) if isinstance(extent, SymbolicExtent) else extent for extent in extents)


def _check(graph, shape, expected):
    """The graph has, at all values of the dimensions of a shape, the values that NumPy gives."""
    verify(graph)
    for values in VALUES:
        x = np.arange(np.prod(_fixed(shape, values)), dtype=np.float32).reshape(_fixed(shape, values))
        told = {"values": np.zeros(_fixed((S, T), values), np.float32)}
        (found,) = evaluate(graph, {"x": x, **told}).values()
        assert np.array_equal(found, expected(x, values)), values


def _graph(shape, change):
    builder = Builder("changed")
    x = builder.input("x", shape, "float32")
    builder.input("values", (S, T), "float32")
    result = change(builder, x)
    result = builder.map("add", result, 0.0) if result is x else result
    return builder.graph((result.name,))


RESHAPES = [
    ((S, 4), (-1,)),
    ((4, S), (-1,)),
    ((S, T), (-1,)),
    ((S, T, 4), (-1, 4)),
    ((S, 4, 4, 32), (-1, 128)),
    ((T, S, 8), (T, times(S, 2), 4)),
    ((times(S, T), 2), (S, T, 2)),
    ((times(S, T), 2), (T, S, 2)),
    ((S, 6, T), (2, S, T, -1)),
    ((S, 1, T), (1, T, -1)),
    ((S, T), (times(S, T), 1)),
    ((times(S, 8),), (-1, 4)),
    ((plus(S, 1), 4), (2, -1)),
]


@pytest.mark.parametrize(("shape", "target"), RESHAPES, ids=str)
def test_dimensions_merge_and_split(shape, target):
    graph = _graph(shape, lambda builder, x: builder.reshape(x, target))
    _check(graph, shape, lambda x, values: x.reshape(_fixed(target, values)))


extents = st.sampled_from([1, 2, 3, S, T, times(S, T), times(S, 2), plus(T, 1)])


@given(st.lists(extents, min_size=1, max_size=4), st.permutations(range(4)), st.integers(0, 3), st.booleans())
def test_random_reshapes(shape, order, cut, merges):
    target = [shape[d] for d in order if d < len(shape)]
    if merges:
        target = [*target[:cut], times(*target[cut:])]
    graph = _graph(shape, lambda builder, x: builder.reshape(x, target))
    _check(graph, shape, lambda x, values: x.reshape(_fixed(target, values)))


def test_other_numbers_of_elements_are_refused_for_all_values_or_for_some():
    with pytest.raises(ShapeError, match="the numbers of elements differ") as problem:
        _graph((S, 4), lambda builder, x: builder.reshape(x, (S, 5)))
    assert not isinstance(problem.value, Undecided)
    with pytest.raises(Undecided, match="for some extents") as problem:
        _graph((S, 4), lambda builder, x: builder.reshape(x, (8,)))
    assert problem.value.cuts == (("s", 2), ("s", 3))
    with pytest.raises(Undecided, match="no extent in place of -1 fits"):
        _graph((S,), lambda builder, x: builder.reshape(x, (-1, 8)))


ends = st.sampled_from([None, 0, 1, 2, 5, -1, -2, -7, S, T, minus(S, 1), times(S, -1), quotient(plus(S, T), 2)])
parts = st.one_of(st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1, -3])), ends.filter(lambda end: end is not None))


@given(st.sampled_from([5, S, plus(S, 2), times(S, T)]), parts)
def test_random_slices(extent, part):
    try:
        graph = _graph((extent, 2), lambda builder, x: builder.slice(x, (part,)))
    except (Undecided, ShapeError) as problem:
        assume(not isinstance(problem, Undecided))
        with pytest.raises(IndexError):
            _check(_graph((extent, 2), lambda builder, x: x), (extent, 2), lambda x, values: x[_key(part, values)])
        return
    _check(graph, (extent, 2), lambda x, values: x[_key(part, values)])


def _key(part, values):
    if isinstance(part, slice):
        return slice(*(None if end is None else value_of(end, values) for end in (part.start, part.stop, part.step)))
    return value_of(part, values)


def test_positions_that_some_values_leave_outside_tell_from_where_on_they_are_inside():
    builder = Builder("outside")
    x = builder.input("x", (S, 2), "float32")
    with pytest.raises(Undecided, match="index 2 may be outside shape") as problem:
        builder.slice(x, (2,))
    assert problem.value.cuts == (("s", 3),)


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize(
    "change",
    [
        lambda builder, x: builder.reshape(x, (-1, 8)),
        lambda builder, x: builder.reshape(builder.reshape(x, (-1, 8)), (T, S, 2, 4)),
        lambda builder, x: builder.slice(x, (-1,)),
        lambda builder, x: builder.slice(x, (slice(None, None, -1), minus(T, 1))),
        lambda builder, x: builder.slice(x, (slice(minus(S, 1), None),)),
    ],
    ids=["merge", "merge and split", "last", "reversed", "from behind"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_generated_code_reads_there(change, threads):
    graph = _graph((S, T, 8), change)
    for values in VALUES:
        x = np.random.default_rng(0).standard_normal((*_fixed((S, T), values), 8)).astype(np.float32)
        inputs = {"x": x, "values": np.zeros(_fixed((S, T), values), np.float32)}
        (expected,) = evaluate(graph, inputs).values()
        (found,) = run(graph, inputs, "x86-64-v2", threads)
        assert np.array_equal(found, expected)


def test_sizes_beyond_what_float32_counts_are_still_positions():
    many = SymbolicExtent("many", 1, 1 << 20, 128)
    builder = Builder("long")
    x = builder.input("x", (many, many, 4), "float32")
    merged = builder.reshape(x, (-1, 4))
    assert dimensions_of(merged.shape).keys() == {"many"}
    verify(builder.graph((merged.name,)))


def test_what_is_no_position_is_refused():
    builder = Builder("refused")
    x = builder.input("x", (S, 2), "float32")
    with pytest.raises(TilewrightError, match="steps of 0"):
        builder.slice(x, (slice(None, None, 0),))
