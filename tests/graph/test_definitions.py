"""Every definition is complete, and the versions of a name are told apart."""

import inspect

import pytest

from tilewright.errors import InternalError
from tilewright.graph.builder import Builder, NotKnown
from tilewright.graph.definition import define, defined, definition


@pytest.mark.parametrize("one", defined(), ids=lambda one: f"{one.domain}{one.name}-{one.since}")
def test_meaning_and_lowering_have_the_same_attributes(one):
    assert one.meaning.__doc__
    if one.lower is not None:
        parameters = inspect.signature(one.lower).parameters.values()
        assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"output_count"} == one.attributes()


def test_the_newest_version_that_is_not_too_new_is_found():
    assert definition("Gelu", 19) is None
    assert definition("Gelu", 99).since == 20


def test_a_version_is_defined_once():
    with pytest.raises(InternalError, match="Gelu is defined twice from version 20"):
        define("Gelu", definition("Gelu", 20).meaning, since=20)


def test_contents_that_are_not_known_are_named():
    builder = Builder("f")
    x = builder.input("x", (2,), "int64")
    with pytest.raises(NotKnown, match="'x'"):
        builder.integers(x)
    assert builder.integers(builder.constant([1, 2])) == (1, 2)
