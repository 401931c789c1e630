"""Graphs as the importer walks them: nodes in topological order over unique names, with arrays in place of protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright.frontend.onnx.element_types import onnx_name
from tilewright.records import record

if TYPE_CHECKING:
    from tilewright.frontend.onnx.definition import Definition

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@record
class Declared:
    """What a model says of one of its inputs or outputs."""

    name: str
    unique: str
    """The name by which nodes speak of it."""
    kind: str = "tensor"
    """tensor, sequence, optional, map or unknown."""
    dtype: np.dtype[Any] | None = None
    """Of a tensor, or of the tensors in a sequence or optional; None if it is not said."""
    shape: tuple[int | str | None, ...] | None = None
    """Extents, names of extents and unknown ones; None if not even the rank is said."""
    denotations: tuple[str, ...] = ()
    """What the model says that every dimension is (DATA_BATCH); "" where it says nothing."""

    @property
    def type(self) -> str:
        """The type in ONNX's words: `tensor(float)`, `seq(tensor(int64))`."""
        element = f"tensor({onnx_name(self.dtype)})" if self.dtype is not None else ""
        return {"tensor": element, "sequence": f"seq({element})", "optional": f"optional({element})"}.get(self.kind, self.kind)


@record(eq=False)
class Node:
    """One operator at work. "" stands for what is left out."""

    name: str
    operator: str
    domain: str
    definition: Definition | None
    """None for operators that the importer computes itself: see `reading.STRUCTURAL`."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    """The attributes that are graphs."""
    given_name: str = ""
    """The name that the file gives it, "" where it gives none."""

    @property
    def label(self) -> str:
        """For messages."""
        return f"{self.operator} node {self.name!r}"

    def reads(self) -> frozenset[str]:
        """All values that it needs, those that its bodies take from outside included."""
        captured = (name for body in self.bodies.values() for name in body.captured)
        return frozenset((*self.inputs, *captured)) - {""}


def live_nodes(nodes: Sequence[Node], wanted: Iterable[str]) -> list[Node]:
    """The nodes on which the wanted values depend."""
    needed, kept = set(wanted), []
    for node in reversed(nodes):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed |= node.reads()
    return kept[::-1]


def has_foreign(nodes: Iterable[Node]) -> bool:
    """Whether others define an operator of some nodes, or of graphs inside them."""
    return any(
        (node.definition is not None and node.definition.is_foreign)
        or any(has_foreign(body.nodes) for body in node.bodies.values())
        for node in nodes
    )


def needed_values(nodes: Sequence[Node], wanted: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """The values that nodes must be given, of which others are known."""
    live = live_nodes(nodes, wanted)
    made = {output for node in live for output in node.outputs}
    read = {value for node in live for value in node.reads()} | set(wanted)
    return tuple(sorted(read - made - set(known)))


@dataclass(frozen=True, eq=False)
class Body:
    """A graph: that of the model, or one inside a node."""

    name: str
    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]

    @cached_property
    def captured(self) -> frozenset[str]:
        """Names of outer values that are read inside."""
        defined = {value.unique for value in self.inputs}.union(self.constants, *(node.outputs for node in self.nodes))
        read = {value.unique for value in self.outputs}.union(*(node.reads() for node in self.nodes))
        return frozenset(read - defined)
