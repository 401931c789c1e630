"""Sessions in packages: the steps that were made, and for which calls; loaded, they run these and make no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from typing import Any

from tilewright.api.compiled import Compiled
from tilewright.api.onnx.running import Inner, NodeRunner, Outline, RunningStep
from tilewright.api.onnx.saved_values import SavedValue, loaded_value
from tilewright.api.onnx.values import NO_VALUES, Values, extents_of, kind
from tilewright.api.ranges import KernelTable, SavedTable
from tilewright.backends.saving import SavedKernel, load_kernel
from tilewright.dtypes import dtype_named
from tilewright.errors import ShapeError
from tilewright.frontend.onnx.description import Description
from tilewright.frontend.onnx.model import Node
from tilewright.records import record
from tilewright.runtime.packages.reading import Package


@record
class SavedNode:
    """A node that runs as NumPy."""

    name: str
    operator: str
    domain: str
    since: int
    """The version of its definition; 0 without any."""
    declared: Mapping[str, SavedValue] | None
    """The attributes that ONNX's schema has, with their defaults, where the definition asks for them."""
    required: tuple[str, ...]
    """Those of them without a default."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, SavedValue]
    bodies: Mapping[str, SavedBody]


@record
class SavedBody:
    """A graph inside a node: its inputs, the outer values that it captures, its outputs, and its steps."""

    name: str
    inputs: tuple[str, ...]
    captured: tuple[str, ...]
    outputs: tuple[str, ...]
    subgraph: SavedSubgraph


@record
class SavedStep:
    """A step of a session."""

    kernel: SavedKernel | None
    outline: Outline
    known: Mapping[str, SavedValue]
    nodes: tuple[SavedNode, ...]
    following: SavedSubgraph | None


@record
class SavedKind:
    """What values of a signature have in common: the element type and rank of arrays, or `list` or `none` of others."""

    name: str
    rank: int = -1


@record
class SavedVariant:
    """The steps of values of these kinds, and of these bytes of the values that decide."""

    kinds: tuple[SavedKind, ...]
    deciding: tuple[bytes, ...]
    table: SavedTable


@record
class SavedSubgraph:
    """The nodes of a model from some point on: the values that they need, and the steps that were made of them."""

    name: str
    needs: tuple[str, ...]
    deciding: tuple[str, ...]
    """The needed values that are part of the signature."""
    steps: tuple[SavedStep, ...]
    variants: tuple[SavedVariant, ...]


@record
class SavedSession:
    """A session: what its model says of itself, and what runs, by the defaults that calls override."""

    description: Description
    subgraphs: tuple[tuple[frozenset[str], SavedSubgraph], ...]
    explanation: int | None = None
    """The section of its plans in words."""


def numpy_operators(session: SavedSession) -> dict[str, str]:
    """The operators that run as NumPy, with the first node of each."""
    nodes = [node for _, subgraph in session.subgraphs for _, step in _steps(subgraph) for node in step.nodes]
    return {node.operator: f"{node.operator} node {node.name!r}" for node in reversed(nodes)}


def compiled_graphs(session: SavedSession) -> list[str]:
    """The names of the parts that have libraries, one for each."""
    return [part.name for _, subgraph in session.subgraphs for part, step in _steps(subgraph) if step.kernel is not None]


def _steps(subgraph: SavedSubgraph) -> Iterator[tuple[SavedSubgraph, SavedStep]]:
    """Every step of a part of a model, of what comes behind it and of graphs inside nodes."""
    for step in subgraph.steps:
        yield subgraph, step
        inner = [body.subgraph for node in step.nodes for body in node.bodies.values()]
        for part in (*inner, *([] if step.following is None else [step.following])):
            yield from _steps(part)


class LoadedStep(RunningStep):
    """A step of a package."""

    def __init__(self, saved: SavedStep, package: Package, threads: int | None, *, is_of_values: bool) -> None:
        """Raises `InvalidPackage`, or what nonsense raises."""
        self.outline, self.is_of_values = saved.outline, is_of_values
        self.compiled = None if saved.kernel is None else Compiled(*load_kernel(saved.kernel, package, threads))
        self.known = {name: loaded_value(value, package) for name, value in saved.known.items()}
        self.runners = [_runner(node, package, threads) for node in saved.nodes]
        self.following = None if saved.following is None else LoadedSubgraph(saved.following, package, threads)


class LoadedSubgraph:
    """The nodes of a model from some point on, as far as they were compiled before they were saved."""

    def __init__(self, saved: SavedSubgraph, package: Package, threads: int | None) -> None:
        """Raises `InvalidPackage`, or what nonsense raises."""
        self.name, self.needs, self._deciding, self._path = saved.name, saved.needs, saved.deciding, package.path
        if not set(self._deciding) <= set(self.needs):
            raise ValueError("a value that decides is not there")
        steps = [LoadedStep(step, package, threads, is_of_values=bool(self._deciding)) for step in saved.steps]
        self._tables: dict[Any, KernelTable[LoadedStep]] = {
            (tuple(map(_kind, one.kinds)), *one.deciding): one.table.table(steps) for one in saved.variants
        }

    def run(self, values: Values, targets: Mapping[str, Any] = NO_VALUES) -> None:
        """Add the wanted values to those that are given; into their targets where that costs no copy."""
        self.step(values).run(values, targets=targets)

    def step(self, values: Values) -> LoadedStep:
        """What to run for these values. Raises `ShapeError` where nothing was saved for them."""
        needs, deciding = self.needs, self._deciding
        table = self._tables.get((tuple([kind(values[name]) for name in needs]), *[values[name].tobytes() for name in deciding]))
        found = None if table is None else table.find(tuple([extent for name in needs for extent in extents_of(values[name])]))
        if found is None:
            raise ShapeError(
                f"the saved session has no library for this call of {self.name}",
                where=f"inputs: {', '.join(f'{name} {extents_of(values[name])}' for name in needs)}",
                why=f"{self._path} has those of the shapes, types and values that were run or prepared before it was saved",
                hint="prepare() these shapes before session.save(), or compile the model with dynamic dimensions",
            )
        return found

    prepare = step


def loaded_subgraphs(saved: SavedSession, package: Package, threads: int | None) -> dict[frozenset[str], LoadedSubgraph]:
    """What runs, by the defaults that a call overrides. Raises `InvalidPackage`."""
    with package.refusing("a session is described wrongly"):
        return {given: LoadedSubgraph(subgraph, package, threads) for given, subgraph in saved.subgraphs}


def _kind(saved: SavedKind) -> Any:
    if saved.rank < 0:
        return {"list": list, "none": type(None)}[saved.name]
    return dtype_named(saved.name), saved.rank


def _runner(saved: SavedNode, package: Package, threads: int | None) -> NodeRunner:
    found = None
    if saved.since:
        from tilewright.frontend.onnx.definition import definition  # reads the operators' files

        found = definition(saved.operator, saved.since, saved.domain)
        if found is None or found.since != saved.since:
            raise ValueError(f"there is no operator {saved.operator!r:.40}")
        if saved.declared is not None:
            defaults = {name: loaded_value(value, package) for name, value in saved.declared.items()}
            found = found.with_schema({**defaults, **dict.fromkeys(saved.required, MISSING)})
    attributes = {name: loaded_value(value, package) for name, value in saved.attributes.items()}
    node = Node(saved.name, saved.operator, saved.domain, found, saved.inputs, saved.outputs, attributes)
    bodies = {name: _inner(body, package, threads) for name, body in saved.bodies.items()}
    return NodeRunner(node, bodies)


def _inner(saved: SavedBody, package: Package, threads: int | None) -> Inner:
    subgraph = LoadedSubgraph(saved.subgraph, package, threads)
    return Inner(saved.name, saved.inputs, saved.captured, saved.outputs, lambda: subgraph)
