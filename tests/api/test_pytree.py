"""Containers of arrays, apart and together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tilewright.api.calls.pytree import flatten, paths, statics, unflatten


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any = None


class Pair(NamedTuple):
    first: Any
    second: Any


def is_float(value: Any) -> bool:
    return isinstance(value, float)


leaves = st.one_of(st.floats(allow_nan=False), st.none(), st.booleans(), st.text(max_size=2))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Pair, inner, inner),
        st.builds(Layer, inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(trees)
def test_a_tree_comes_back(tree: Any) -> None:
    flat = flatten(tree, is_float)
    assert unflatten(flat.structure, flat.leaves) == tree
    assert len(list(paths(flat.structure))) == len(flat.leaves)
    hash(flat.structure)


@given(trees, trees)
def test_structures_are_equal_if_only_leaves_differ(first: Any, second: Any) -> None:
    one, other = flatten(first, is_float), flatten(second, is_float)
    if one.structure == other.structure:
        assert unflatten(one.structure, other.leaves) == second


def test_paths_read_like_python() -> None:
    tree = {"layers": [Layer(1.0, 2.0), Layer(3.0)], "pair": Pair(4.0, "x")}
    flat = flatten(tree, is_float)
    assert list(paths(flat.structure, "params")) == [
        "params['layers'][0].weight",
        "params['layers'][0].bias",
        "params['layers'][1].weight",
        "params['pair'][0]",
    ]
    assert list(statics(flat.structure)) == [None, "x"]


def test_static_values_of_different_types_differ() -> None:
    assert flatten(1, is_float).structure != flatten(True, is_float).structure
