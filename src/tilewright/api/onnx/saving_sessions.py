"""Sessions become packages: the data of the steps that were made, and of the calls that they are for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from tilewright.api.onnx.running import Inner, NodeRunner
from tilewright.api.onnx.saved_sessions import (
    SavedBody,
    SavedKind,
    SavedNode,
    SavedSession,
    SavedStep,
    SavedSubgraph,
    SavedVariant,
    numpy_operators,
)
from tilewright.api.onnx.saved_values import SavedValue, saved_value
from tilewright.api.onnx.steps import RemainingSubgraph, Step
from tilewright.backends.saving import save_kernel
from tilewright.errors import TilewrightError
from tilewright.graph import data_format
from tilewright.runtime.packages.writing import PackageWriter

NOT_NUMBERS = ("object", "list", "none")
"""Kinds of values whose extents are no part of a signature."""

_log = logging.getLogger("tilewright.onnx")


def write_target(session: SavedSession, writer: PackageWriter, path: str | Path, name: str = "") -> None:
    """Add the plan of a session, for a target of a name, and tell the operators in it that run as NumPy."""
    for operator, label in numpy_operators(session).items():
        _log.warning("%s runs as NumPy from %s, too (%s)", operator, path, label)
    writer.target(data_format.encode(session, SavedSession), name)


def saved_subgraph(subgraph: RemainingSubgraph, writer: PackageWriter, *, may_be_empty: bool = False) -> SavedSubgraph:
    """The data of a part of a model. Raises `TilewrightError` where no call has shown what it runs."""
    numbers: dict[Step, int] = {}
    deciding, variants = subgraph.variants()
    saved = []
    for kinds, values, signatures in variants:
        described = tuple(map(_saved_kind, kinds))
        count = sum(one.rank for one in described if one.name not in NOT_NUMBERS)
        table = signatures.saved(count, lambda step: numbers.setdefault(step, len(numbers)))
        saved.append(SavedVariant(described, values, table))
    if not (numbers or may_be_empty):
        hint = "run the session with inputs of these shapes before it is saved: what comes behind NumPy is compiled then"
        raise TilewrightError(f"{subgraph.name} has nothing that could be saved", where="save", hint=hint)
    steps = tuple(_saved_step(step, writer) for step in numbers)
    return SavedSubgraph(subgraph.name, subgraph.needs, deciding, steps, tuple(saved))


def _saved_step(step: Step, writer: PackageWriter) -> SavedStep:
    compiled, name = step.compiled, step.remaining.name
    return SavedStep(
        None if compiled is None else save_kernel((compiled.executable, compiled.constants), writer),
        step.outline,
        {value: saved_value(known, writer, f"value {value!r} of {name}") for value, known in step.known.items()},
        tuple(_saved_node(runner, writer) for runner in step.runners),
        None if step.following is None else saved_subgraph(step.following, writer),
    )


def _saved_node(runner: NodeRunner, writer: PackageWriter) -> SavedNode:
    node, definition = runner.node, runner.node.definition

    def saved(values: Mapping[str, Any]) -> dict[str, SavedValue]:
        return {name: saved_value(value, writer, f"attribute {name!r} of {node.label}") for name, value in values.items()}

    schema = None if definition is None else definition.schema_attributes()
    return SavedNode(
        node.name,
        node.operator,
        node.domain,
        0 if definition is None else definition.since,
        None if schema is None else saved({name: value for name, value in schema.items() if value is not MISSING}),
        tuple(name for name, value in (schema or {}).items() if value is MISSING),
        node.inputs,
        node.outputs,
        saved(node.attributes),
        {name: _saved_body(inner, writer) for name, inner in runner.bodies.items()},
    )


def _saved_body(inner: Inner, writer: PackageWriter) -> SavedBody:
    """The steps of a graph inside a node, as far as it was run."""
    subgraph: Any = inner.subgraph()
    return SavedBody(inner.name, inner.inputs, inner.captured, inner.outputs, saved_subgraph(subgraph, writer, may_be_empty=True))


def _saved_kind(kind: Any) -> SavedKind:
    if not isinstance(kind, tuple):
        return SavedKind("list" if kind is list else "none")
    dtype, rank = kind
    return SavedKind(dtype.name, rank)
