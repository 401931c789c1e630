"""Steps of a session as calls run them: a library, nodes as NumPy, and what comes behind them. Nothing here makes any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from tilewright.api.compiled import Compiled
from tilewright.api.onnx.values import NO_VALUES, Values, as_value
from tilewright.errors import InvalidModel, PositionError
from tilewright.frontend.onnx.model import Array, Node
from tilewright.frontend.onnx.symbolic import Symbolic
from tilewright.records import record


@record
class Outline:
    """What a step takes and gives."""

    inputs: tuple[str, ...]
    """The values that the graph is given, in order."""
    outputs: tuple[str, ...]
    """The values that are the graph's outputs, in order."""
    same: Mapping[str, str]
    """Values that are other values as they are."""
    labels: Mapping[str, str]
    """The labels of the nodes whose operators read at positions that data gives, by operator."""
    places: Mapping[str, tuple[str, int]]
    """Of every symbol, a given value and a dimension of it that has this extent."""


class Clock(Protocol):
    """Who measures a call."""

    def graph(self, step: Any, compiled: Compiled, values: Values, inputs: Sequence[Array]) -> list[Array]:
        """Run the graph of a step, for the values of a call and the arrays that it reads."""

    def node(self, node: Node, seconds: float) -> None:
        """A node ran as NumPy."""


class Subgraph(Protocol):
    """The nodes of a model from some point on."""

    def step(self, values: Values) -> RunningStep:
        """What to run for these values."""


@record(eq=False)
class Inner:
    """A graph inside a node."""

    name: str
    inputs: tuple[str, ...]
    captured: tuple[str, ...]
    """The outer values that it reads."""
    outputs: tuple[str, ...]
    subgraph: Callable[[], Subgraph]
    """Its nodes, when they are first run."""

    def call(self, outer: Values, *inputs: Any) -> tuple[Any, ...]:
        """The graph's outputs for its inputs and the outer values that it captures."""
        if len(inputs) != len(self.inputs):
            raise InvalidModel(f"a body of {len(self.inputs)} inputs is given {len(inputs)}", where=self.name)
        values = {name: outer[name] for name in self.captured}
        values.update((name, as_value(given)) for name, given in zip(self.inputs, inputs, strict=True))
        self.subgraph().step(values).run(values)
        return tuple(values[name] for name in self.outputs)


class NodeRunner:
    """A node as its reference implementation; its graphs are compiled on their own."""

    def __init__(self, node: Node, bodies: Mapping[str, Inner]) -> None:
        self.node, self.bodies = node, bodies

    def run(self, values: Values) -> tuple[Any, ...]:
        """The results for the values that the node reads."""
        inputs: list[Any] = [values[name] if name else None for name in self.node.inputs]
        match self.node.operator if self.node.definition is None else "":
            case "Identity":
                return (inputs[0],)
            case "If":
                taken = "then_branch" if np.asarray(inputs[0]).reshape(-1)[:1].any() else "else_branch"
                return self.bodies[taken].call(values)
            case "Shape":
                shape = np.shape(inputs[0])[self.node.attributes.get("start", 0) : self.node.attributes.get("end")]
                return (np.array(shape, np.int64),)
            case "Size":
                return (np.array(np.size(inputs[0]), np.int64),)
        bodies = {name: partial(body.call, values) for name, body in self.bodies.items()}
        from tilewright.frontend.onnx.reference import run_reference  # not where all is compiled

        return run_reference(self.node, inputs, bodies)


class RunningStep:
    """A stage that runs, and what comes after it."""

    outline: Outline
    compiled: Compiled | None
    known: Values
    """Values that need no computation."""
    runners: Sequence[NodeRunner]
    following: Subgraph | None
    is_of_values: bool
    """Whether it serves some values of its inputs only."""

    def is_alone(self) -> bool:
        """Whether its graph is all that runs, for any values."""
        others = self.known or self.outline.same or self.runners or self.following
        return self.compiled is not None and not (self.is_of_values or others)

    def compute(self, inputs: tuple[Array, ...], places: Sequence[Array | None] = ()) -> list[Array]:
        """The outputs of the graph for its inputs; written to their places, if there are any."""
        assert self.compiled is not None
        try:
            return self.compiled.run(inputs, places)
        except PositionError as problem:
            problem.where = self.outline.labels.get(problem.where, problem.where)
            raise problem from None

    def run(self, values: Values, clock: Clock | None = None, targets: Mapping[str, Any] = NO_VALUES) -> None:
        """Add the values that are left to those that are given. A `clock` is told what every part took.

        A value that has a target, an array by its name, may be written there, where nothing but this graph is run: what runs
        behind it might show parts of the array elsewhere, or still read what the array held.
        """
        if self.compiled is not None:
            inputs = tuple([values[name] for name in self.outline.inputs])
            is_last = not self.runners and self.following is None
            places = [targets.get(name) for name in self.outline.outputs] if targets and is_last else ()
            results = self.compute(inputs, places) if clock is None else clock.graph(self, self.compiled, values, inputs)
            values.update(zip(self.outline.outputs, results, strict=True))
        for name, known in self.known.items():
            values[name] = known.evaluate(self.dimensions(values)) if isinstance(known, Symbolic) else known
        for name, source in self.outline.same.items():
            values[name] = values[source]
        for runner in self.runners:
            begin = perf_counter()
            values.update(zip(runner.node.outputs, runner.run(values), strict=True))
            if clock is not None:
                clock.node(runner.node, perf_counter() - begin)
        if self.following is not None:
            self.following.step(values).run(values, clock)

    def dimensions(self, values: Values) -> dict[str, int]:
        """The values of run-time dimensions, by name, for those of a call."""
        return {symbol: values[name].shape[dimension] for symbol, (name, dimension) in self.outline.places.items()}
