"""Every ONNX operator is complete, and the versions of a name are told apart."""

import inspect
from dataclasses import is_dataclass

import pytest

from tilewright.errors import InternalError
from tilewright.frontend.onnx.definition import define, definition, definitions
from tilewright.graph.builders.builder import Builder, NotKnown


@pytest.mark.parametrize("one", definitions(), ids=lambda one: f"{one.domain}{one.name}-{one.since}")
def test_reference_and_lowering_take_the_same_operands(one):
    operator = one.implementation
    assert operator.__doc__
    assert not is_dataclass(operator) or operator.__dataclass_params__.frozen
    if one.has_lowering:
        assert operands(operator.lower)[1:] == operands(operator.reference)


def operands(method):
    """Names, kinds and defaults of the parameters behind `self`."""
    return [(p.name, p.kind, p.default) for p in list(inspect.signature(method).parameters.values())[1:]]


def test_the_newest_version_that_is_not_too_new_is_found():
    assert definition("Gelu", 19) is None
    assert definition("Gelu", 99).since == 20


def test_a_version_is_defined_once():
    with pytest.raises(InternalError, match="Gelu is defined twice from version 20"):
        define("Gelu", definition("Gelu", 20).implementation, since=20)


def test_an_attribute_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="approximation"):
        definition("Gelu", 20).operator(approximation="tanh")


def test_contents_that_are_not_known_are_named():
    builder = Builder("f")
    x = builder.input("x", (2,), "int64")
    with pytest.raises(NotKnown, match="'x'"):
        builder.integers(x)
    assert builder.integers(builder.constant([1, 2])) == (1, 2)
