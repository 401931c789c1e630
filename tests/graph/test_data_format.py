"""Graphs and artifacts as JSON: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tilewright.graph import data_format
from tilewright.graph.constant_recipe import Recipe
from tilewright.graph.data_format import Unreadable, decode, encode
from tilewright.graph.expressions.index import FloorDiv, Index, Mod
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Point, Previous, Scalar, State
from tilewright.graph.types import (
    Access,
    Axis,
    AxisKind,
    Constant,
    Graph,
    Guard,
    Operator,
    Reduction,
    Rescale,
    StateVariable,
    SymbolicExtent,
    Tensor,
)

NAMES = some.text(max_size=5)
INTEGERS = some.integers(-(2**70), 2**70)
NUMBERS = some.floats() | INTEGERS
EXTENTS = INTEGERS | some.builds(SymbolicExtent, NAMES, INTEGERS, INTEGERS, INTEGERS)
INDICES: Any = some.recursive(
    some.builds(Index, some.lists(some.tuples(NAMES, INTEGERS), max_size=2).map(tuple), INTEGERS),
    lambda inner: some.builds(
        lambda kind, dividend, divisor, factor: Index(((kind(dividend, divisor), factor),)),
        some.sampled_from([FloorDiv, Mod]),
        inner,
        INTEGERS,
        INTEGERS,
    ),
    max_leaves=4,
)
SCALARS: Any = some.recursive(
    some.builds(Literal, NUMBERS)
    | some.builds(Load, INTEGERS)
    | some.builds(Point)
    | some.one_of(*(some.builds(kind, NAMES) for kind in (State, Previous, AxisValue, Parameter))),
    lambda inner: some.builds(Apply, NAMES, some.lists(inner, max_size=3).map(tuple)),
    max_leaves=5,
)


def tuples(one: Any) -> Any:
    return some.lists(one, max_size=2).map(tuple)


ACCESSES = some.builds(
    Access,
    NAMES,
    tuples(INDICES),
    some.none() | some.builds(Guard, tuples(INDICES), NUMBERS),
    tuples(some.tuples(INTEGERS, INTEGERS)),
)
REDUCTIONS = some.builds(
    Reduction,
    tuples(some.builds(StateVariable, NAMES, NUMBERS, SCALARS, NAMES)),
    SCALARS,
    tuples(some.builds(Rescale, NAMES, SCALARS)),
)
OPERATORS = some.builds(
    Operator,
    NAMES,
    NAMES,
    tuples(some.builds(Axis, NAMES, EXTENTS, some.sampled_from(AxisKind))),
    tuples(ACCESSES),
    ACCESSES,
    SCALARS,
    some.none() | REDUCTIONS,
    NAMES,
)
ELEMENT_TYPES = some.sampled_from(
    sorted(name for name in data_format.ARRAY_TYPES if hasattr(ml_dtypes, name) or hasattr(np, name))
)


@some.composite
def arrays(draw: Any) -> np.ndarray:
    shape = draw(some.lists(some.integers(0, 3), max_size=3))
    dtype = np.dtype(getattr(ml_dtypes, draw(ELEMENT_TYPES), None) or "float32")
    bits = draw(some.binary(min_size=math.prod(shape) * dtype.itemsize, max_size=math.prod(shape) * dtype.itemsize))
    return np.frombuffer(bits, np.uint8).view(dtype).reshape(shape)


GRAPHS = some.builds(
    Graph,
    NAMES,
    tuples(some.builds(Tensor, NAMES, tuples(EXTENTS), NAMES)),
    tuples(OPERATORS),
    tuples(NAMES),
    tuples(NAMES),
    tuples(some.tuples(NAMES, some.builds(Constant, arrays()))),
)
RECIPES = some.builds(Recipe, GRAPHS, tuples(some.tuples(NAMES, NAMES)))


@given(RECIPES)
def test_what_is_read_is_what_was_written(recipe: Recipe) -> None:
    content = encode(recipe, Recipe)
    again = decode(content, Recipe)
    assert repr(again) == repr(recipe)  # NaN is not equal to itself
    assert encode(again, Recipe) == content
    for (_, one), (_, other) in zip(recipe.graph.constants, again.graph.constants, strict=True):
        assert (one.array.dtype, one.array.shape) == (other.array.dtype, other.array.shape)
        assert one.array.tobytes() == other.array.tobytes()


@given(RECIPES, some.data())
def test_mutated_content_is_read_as_a_value_or_refused(recipe: Recipe, data: Any) -> None:
    content = bytearray(encode(recipe, Recipe))
    for _ in range(data.draw(some.integers(1, 3))):
        content[data.draw(some.integers(0, len(content) - 1))] = data.draw(some.integers(0, 255))
    try:
        found = decode(bytes(content), Recipe)
    except Unreadable:
        return
    assert decode(encode(found, Recipe), Recipe).origins == found.origins


JUNK = some.recursive(
    some.none() | some.booleans() | NUMBERS | NAMES,
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(["Index", "Axis", "Graph", "Recipe", "ndarray", "bytes", "Constant"]), inner, max_size=2
        )
    ),
    max_leaves=12,
)


@given(JUNK, some.data())
def test_json_of_another_form_is_read_as_a_value_or_refused(junk: Any, data: Any) -> None:
    """Whole subtrees are replaced: the syntax is right, the types are not."""
    record = json.loads(encode(data.draw(RECIPES), Recipe))
    parent, key = data.draw(some.sampled_from(places(record)))
    parent[key] = junk
    try:
        found = decode(json.dumps(record).encode(), Recipe)
    except Unreadable:
        return
    assert isinstance(found.graph, Graph)
    repr(found)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with every key of it."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, dict | list) else []
    return [(value, key) for key, _ in items] + [place for _, inner in items for place in places(inner)]


class RunsCode:
    """What pickle would run when it is read."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return exec, ("raise SystemExit('code was run')",)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(RunsCode()),
        pickle.dumps(RunsCode(), protocol=0),
        b"",
        b"[" * 100_000,
        b'{"Recipe":' * 10_000,
        b"9" * 10_000,
        b'{"Recipe":[]}',
        b'{"Recipe":[{"Graph":["g",[],[],[],[],[["c",{"Constant":[{"ndarray":["object",[1],false,"AAAAAAAAAAA="]},true]}]]]},[]]}',
        b'{"Recipe":[{"Graph":["g",[],[],[],[],[["c",{"Constant":[{"ndarray":["int8",[-1],false,"AA=="]},true]}]]]},[]]}',
        b'{"Recipe":[{"Graph":["g",[],[],[],[],[["c",{"Constant":[{"ndarray":["int8",[2,2],false,"AA=="]},true]}]]]},[]]}',
        b'{"os.system":["true"]}',
    ],
    ids=lambda content: repr(content[:24]),
)
def test_hostile_content_is_refused(content: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(content, Recipe)


@pytest.mark.parametrize(
    ("field", "value"), [("integer", 1.0), ("integer", True), ("text", 1), ("number", "1"), ("number", True)]
)
def test_every_field_is_checked_for_its_type(field: str, value: object) -> None:
    wrong = {"integer": Load(value), "text": State(value), "number": Literal(value)}[field]  # type: ignore[arg-type]
    with pytest.raises(Unreadable):
        encode(wrong, type(wrong))
    with pytest.raises(Unreadable):
        decode(json.dumps({type(wrong).__name__: [value]}).encode(), type(wrong))


def test_the_kinds_of_numbers_stay() -> None:
    """The interpreter adds an integer to integers and a floating-point number to floating-point ones."""
    for value in (1, 1.0, -0.0, float("inf"), np.float32(0.1), np.int64(3)):
        again = decode(encode(Literal(value), Literal), Literal).value
        assert repr(again) == repr(value.item() if isinstance(value, np.generic) else value)


def test_objects_have_no_place() -> None:
    with pytest.raises(Unreadable):
        encode(Constant(np.array(["text", None], object)), Constant)


def test_a_broadcast_array_takes_no_room() -> None:
    array = np.broadcast_to(np.float32(3), (1000, 1000))
    content = encode(Constant(array), Constant)
    assert len(content) < 100
    np.testing.assert_array_equal(decode(content, Constant).array, array)


def test_scalars_of_every_kind_are_in_the_union() -> None:
    """A new kind of scalar that is not part of `Scalar` would be written and not read."""
    expression: Scalar = Apply("f", (Literal(1.0), Load(0), Point(), State("s"), Previous("s"), AxisValue("m"), Parameter("p")))
    assert decode(encode(expression, Apply), Apply) == expression
