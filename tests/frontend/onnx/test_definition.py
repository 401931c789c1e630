"""Every ONNX operator is complete, and the versions of a name are told apart."""

import inspect
import json
import subprocess
import sys
from dataclasses import is_dataclass

import pytest

from tests.support.onnx_models import DOMAIN
from tilewright.errors import InternalError
from tilewright.frontend.onnx.definition import define, definition, definitions
from tilewright.graph.builders.builder import Builder, NotKnown


@pytest.mark.parametrize("one", definitions(), ids=lambda one: f"{one.domain}{one.name}-{one.since}")
def test_reference_and_lowering_take_the_same_operands(one):
    operator = one.implementation
    assert operator.__doc__
    assert not is_dataclass(operator) or operator.__setattr__ is not object.__setattr__
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


FIND_EACH_ALONE = """
import json, sys
from tilewright.frontend.onnx import definition
found = {}
for domain, name in json.loads(sys.stdin.read()):
    for module in [module for module in sys.modules if module.startswith(definition.OPERATORS + ".")]:
        del sys.modules[module]
    definition._definitions.clear()
    definition._load_files_of.cache_clear()
    definition._load_files_of(name)
    found[domain + "/" + name] = sorted(definition._definitions.get((domain, name), ()))
print(json.dumps(found))
"""


def test_every_version_of_an_operator_is_in_files_that_spell_its_name() -> None:
    versions: dict[tuple[str, str], list[int]] = {}
    for defined in definitions():
        if defined.domain == DOMAIN:
            continue
        versions.setdefault((defined.domain, defined.name), []).append(defined.since)
    asked = json.dumps(list(versions))
    answer = subprocess.run([sys.executable, "-c", FIND_EACH_ALONE], input=asked, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout) == {f"{domain}/{name}": sorted(since) for (domain, name), since in versions.items()}
