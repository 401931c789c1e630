"""Import of a stage: the request, the result, and the reasons for stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from tilewright.errors import PositionError, TilewrightError
from tilewright.frontend.onnx.model import Node
from tilewright.graph.expressions.dimensions import dimension_of_multiple
from tilewright.graph.types import Extent, Graph, Operator, SymbolicExtent, Tensor
from tilewright.records import record

Obstacle: TypeAlias = Callable[[Operator, Mapping[str, Tensor]], str]
"""Why generated code cannot compute an operator; "" if it can."""


class NeedsValues(Exception):
    """The value of an input of the stage decides on shapes: the stage must be imported for this value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the value of {name!r} decides on shapes")
        self.name = name


@record
class Given:
    """What is known of a value that a stage is given: its shape and type, or nothing (sequences, strings: `dtype` is "")."""

    shape: tuple[Extent, ...] = ()
    dtype: str = ""


@record(eq=False)
class Stage:
    """What happens in order: the graph runs, then the nodes in `as_numpy`; `rest` is imported for what came out."""

    graph: Graph | None
    """None if nothing is compiled."""
    inputs: tuple[str, ...]
    """The values that the graph is given, in order."""
    outputs: tuple[str, ...]
    """The values that are the graph's outputs, in order. Several may be the same tensor: see `same`."""
    same: Mapping[str, str]
    """Values that are other values of the stage as they are."""
    known: Mapping[str, Any]
    """Values that need no computation: arrays, and `Symbolic` ones."""
    as_numpy: tuple[Node, ...] = ()
    rest: tuple[Node, ...] = ()
    given: Mapping[str, Given] = field(default_factory=dict)
    """What it was imported for."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """The labels of the nodes whose operators read at positions that data gives, by operator."""
    operator_names: Mapping[str, str] = field(default_factory=dict)
    """The names that the file gives to operators of the graph: those of their nodes."""
    tensor_names: Mapping[str, str] = field(default_factory=dict)
    """The names that the file gives to tensors of the graph: those of values."""

    refused: Mapping[str, TilewrightError] = field(default_factory=dict)
    """Why nodes are not part of the graph that could be, by label: questions about run-time extents without an answer, too."""

    def placed(self, problem: PositionError) -> PositionError:
        """The same error of a run of the graph, told to be at the node and not at an operator."""
        problem.where = self.nodes.get(problem.where, problem.where)
        return problem

    def places(self) -> dict[str, tuple[str, int]]:
        """Of every symbol, a given value and a dimension of it that has this extent."""
        return {
            (dimension_of_multiple(extent) or extent).name: (name, dimension)
            for name, given in self.given.items()
            for dimension, extent in enumerate(given.shape)
            if isinstance(extent, SymbolicExtent)
        }


@record
class ImportRequest:
    """What to import: nodes, the values that are given and those that are known, and the values that are wanted in the end."""

    name: str
    nodes: Sequence[Node]
    given: Mapping[str, Given]
    known: Mapping[str, Any]
    wanted: Sequence[str]
    unknowable: frozenset[str] = frozenset()
    """Inputs whose values stay unknown."""
