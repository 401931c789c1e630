"""Attributes and versions of every operator, compared with the schemas of ONNX in all their versions."""

from dataclasses import MISSING
from functools import cache

import numpy as np
import pytest
from onnx import defs, helper

from tilewright.frontend.onnx.definition import definitions
from tilewright.frontend.onnx.reading import STRUCTURAL

REQUIRED = object()
"""In the place of the default of an attribute that has none."""

OLDEST = 7
"""Schemas of the standard domain that a later one replaced up to this opset are read in part, if their definition goes on."""

LEGACY = frozenset({"consumed_inputs"})
"""Attributes of the first schemas that mean nothing."""

FROM_OPERANDS = "0 stands for what the operands' shapes say"
OTHER_DEFAULTS = {
    ("GRU-7", "hidden_size"): (0, FROM_OPERANDS),
    ("LSTM-7", "hidden_size"): (0, FROM_OPERANDS),
    ("GridSample-16", "mode"): ("linear", "of which bilinear is the other name"),
    ("Clip-1", "max"): (np.inf, "no bound"),
    ("Clip-1", "min"): (-np.inf, "no bound"),
    ("RNN-7", "hidden_size"): (0, FROM_OPERANDS),
    ("RNN-7", "activations"): ((), "Tanh for every direction, of which there are one or two"),
    ("RegexFullMatch-20", "pattern"): (REQUIRED, "optional in the schema, which gives a node without it no meaning"),
}
"""Defaults that differ from the schema's, by the first version of a definition and the attribute, and why."""


@cache
def schemas():
    """The schemas of every operator, by domain and name, the oldest first."""
    found = {}
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda schema: schema.since_version):
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


PUBLIC = [definition for definition in definitions() if (definition.domain, definition.name) in schemas()]


def label(definition):
    domain = f"{definition.domain}:" if definition.domain else ""
    return f"{domain}{definition.name}-{definition.since}"


def test_every_operator_of_onnx_is_defined_and_no_other_in_its_domains():
    """But for what the importer computes itself, and the domain of optimizers and derivatives."""
    defined = {(definition.domain, definition.name) for definition in definitions()}
    expected = {(domain, name) for domain, name in schemas() if domain != "ai.onnx.preview.training"}
    expected -= {("", name) for name in STRUCTURAL}
    domains = {domain for domain, _ in schemas()}
    assert {name for name in defined if name[0] in domains} == expected


@pytest.mark.parametrize("definition", PUBLIC, ids=label)
def test_a_definition_begins_with_a_version_of_its_schema(definition):
    versions = [schema.since_version for schema in schemas()[definition.domain, definition.name]]
    assert definition.since in versions


@pytest.mark.parametrize("definition", PUBLIC, ids=label)
def test_attributes_and_defaults_are_those_of_the_schemas(definition):
    known = defaults(definition)
    covered = list(covered_schemas(definition))
    versions = schemas()[definition.domain, definition.name]
    assert known.keys() <= {name for schema in versions for name in schema.attributes}, "attributes that no schema has"
    for schema in without_old_ones(covered):
        for name in schema.attributes.keys() - LEGACY:
            assert name in known, f"{name} of version {schema.since_version} has no field"
            wanted, _ = OTHER_DEFAULTS.get((label(definition), name), (declared(schema.attributes[name]), ""))
            assert same(known[name], wanted), f"{name}: {known[name]!r}, {wanted!r} in version {schema.since_version}"


def test_every_exception_is_one():
    """An exception that agrees with all schemas, or is of an attribute that none has, is out of date."""
    by_label = {label(definition): definition for definition in PUBLIC}
    for (name, attribute), (value, _) in OTHER_DEFAULTS.items():
        of_schemas = [
            schema.attributes[attribute] for schema in covered_schemas(by_label[name]) if attribute in schema.attributes
        ]
        assert of_schemas
        assert not all(same(value, declared(one)) for one in of_schemas)


def covered_schemas(definition):
    """The schemas that a definition is for: from its own version until the next definition's."""
    versions = [one.since for one in PUBLIC if (one.domain, one.name) == (definition.domain, definition.name)]
    end = min((since for since in versions if since > definition.since), default=np.inf)
    return [one for one in schemas()[definition.domain, definition.name] if definition.since <= one.since_version < end]


def without_old_ones(covered):
    """The schemas of one definition, less those that another of them replaced up to `OLDEST`."""
    is_standard = covered[-1].domain == ""
    ends = [later.since_version for later in covered[1:]]
    return [one for one, end in zip(covered, [*ends, np.inf], strict=True) if not is_standard or end > OLDEST]


def defaults(definition) -> dict[str, object]:
    """The attributes of a definition with their defaults, `REQUIRED` without one."""
    return {name: REQUIRED if default is MISSING else default for name, default in definition.defaults.items()}


def declared(attribute: defs.OpSchema.Attribute) -> object:
    """The default of an attribute in a schema; `REQUIRED`, or None where it may be left out and has none."""
    if attribute.required:
        return REQUIRED
    if attribute.default_value.type == 0:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else plain(value)


def plain(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value


def same(value: object, wanted: object) -> bool:
    """Whether defaults are equal, in float32; an empty list is as good as none."""
    if isinstance(wanted, float) and isinstance(value, int | float):
        return np.float32(value) == np.float32(wanted)
    return value == wanted or (wanted is None and value == ())
