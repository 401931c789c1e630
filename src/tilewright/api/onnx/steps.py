"""Running a model: stage by stage, each compiled for the shapes that the one before gave."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from tilewright.api.building import Options
from tilewright.api.compiled import Compiled
from tilewright.api.lengths import FIXED, with_planned_matrices
from tilewright.api.onnx.kept_stages import KeptModel
from tilewright.api.onnx.running import Inner, NodeRunner, Outline, RunningStep
from tilewright.api.onnx.values import NO_VALUES, Values, extents_of, kind, without_elements
from tilewright.api.onnx.weights import frozen, held_constants, held_nodes
from tilewright.api.ranges import Extents
from tilewright.api.recent import Recent
from tilewright.api.signatures import Maker, Signatures
from tilewright.artifact import Artifact
from tilewright.errors import (
    DTypeError,
    InternalError,
    PlanningError,
    PositionError,
    TilewrightError,
    Undecided,
    UnsupportedOperation,
)
from tilewright.frontend.onnx.model import Array, Body, Node, live_nodes, needed_values
from tilewright.frontend.onnx.stage_types import Given, ImportRequest, NeedsValues, Obstacle, Stage
from tilewright.frontend.onnx.symbolic import Symbolic
from tilewright.graph.short_names import short_name
from tilewright.graph.types import Extent, Graph, SymbolicExtent
from tilewright.interpreter_settings import collector_waits
from tilewright.machine.machine import Machine
from tilewright.precision import Precision
from tilewright.progress import preparing
from tilewright.records import record
from tilewright.runtime import calibration

if TYPE_CHECKING:
    from tilewright.plan.types import Plan

MOST_VALUE_ELEMENTS = 1024
"""Elements of the largest input whose value becomes part of a signature."""
MOST_VARIANTS = 16
"""Constant values of inputs for which a stage is made; with more, the nodes that depend on them run as NumPy."""
MOST_STEPS = 256
"""Of a session. Those that did not run while a third as many were made are let go, and come from the cache on disk again."""

_log = logging.getLogger("tilewright.onnx")


@dataclass(slots=True)
class SessionContext:
    """What all stages of a session share."""

    threads: int | None = None
    machine: Machine | None = None
    precision: Precision = Precision.FLOAT32
    fuse: bool | None = None
    """None where prices decide on fusion."""
    reported: dict[str, str] = field(default_factory=dict)
    """Operators that run as NumPy, and the first node of each."""
    compiled: list[str] = field(default_factory=list)
    """The names of the graphs that were compiled."""
    check_files: Callable[[], None] = lambda: None
    """As that of the model: asked before constants are looked at again."""
    mapped: bool = False
    """Whether what is compiled later reads its constants from the mapped files of the model."""
    is_saved: bool = False
    """As in `Options`."""
    steps: Recent[tuple[object, Extents], Step] = field(default_factory=lambda: recent_steps(lambda: None))
    """Of all parts of the model."""

    @property
    def options(self) -> Options:
        """How graphs of the session are planned and run: for this machine, if none was named."""
        if self.machine is None:
            self.machine = calibration.ensure()
        return Options(self.machine, self.fuse, self.precision, self.threads, is_saved=self.is_saved)

    def report_numpy(self, node: Node, reason: TilewrightError | None) -> None:
        """Warn, once for each operator, that it runs as NumPy."""
        if node.operator not in self.reported:
            self.reported[node.operator] = node.label
            _log.warning("%s runs as NumPy: %s", node.label, reason or "it is not compiled")


def recent_steps(when_forgetting: Callable[[], None]) -> Recent[tuple[object, Extents], Step]:
    """Of a session."""
    return Recent(MOST_STEPS, when_forgetting)


@record
class ConstantValues:
    """Constant values of inputs: those that are part of the signature, and those that cannot be."""

    deciding: tuple[str, ...] = ()
    unknowable: frozenset[str] = frozenset()


def without_most_elements(values: Values, names: Sequence[str], constants: ConstantValues) -> Values:
    """Values of a call, with elements only where they decide."""
    return {name: values[name] if name in constants.deciding else without_elements(values[name]) for name in names}


class RemainingSubgraph:
    """The nodes of a model from some point on, and the steps made for them so far. Safe from several threads."""

    def __init__(
        self,
        name: str,
        read: Callable[[], tuple[Sequence[Node], Mapping[str, Any]]],
        wanted: Sequence[str],
        context: SessionContext,
        declared: Mapping[str, Sequence[int | str | None]] = MappingProxyType({}),
        check_files: Callable[[], None] = lambda: None,
        needs: Sequence[str] | None = None,
        kept: KeptModel | None = None,
    ) -> None:
        """`read` gives the nodes and the values that are known, when somebody asks for them.

        `declared` are shapes of inputs as the model declares them: names and None stand for extents that vary. `check_files` is
        asked before `known` is looked at. `needs` are the values that it must be given, where they are known; `kept` has stages.
        """
        self.name, self.wanted, self.context = short_name(name), tuple(wanted), context
        self._read, self.check_files, self.kept = read, check_files, kept
        self.needs = needed_values(self.nodes, wanted, self.known) if needs is None else tuple(needs)
        self._declared = declared
        self._constants = ConstantValues()
        """Steps are made with what was known when their signature was looked up: it may grow meanwhile."""
        self._variants: dict[Any, Signatures[Imported, Step]] = {}
        self._samples: WeakKeyDictionary[Step, Values] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @cached_property
    def _contents(self) -> tuple[Sequence[Node], Mapping[str, Any]]:
        nodes, known = self._read()
        return live_nodes(nodes, self.wanted), dict(known)

    @property
    def nodes(self) -> Sequence[Node]:
        """On which the wanted values depend."""
        return self._contents[0]

    @property
    def known(self) -> Mapping[str, Any]:
        """Values that need no computation."""
        return self._contents[1]

    def run(self, values: Values, targets: Mapping[str, Any] = NO_VALUES) -> None:
        """Add the wanted values to those that are given; into their targets where that costs no copy (`Step.run`)."""
        self.step(values).run(values, targets=targets)

    def step(self, values: Values) -> Step:
        """What to run for these values; made when it is first asked for."""
        signatures = self._variants.get(self._key(values, self._constants))
        found = signatures.find(self._extents(values)) if signatures is not None else None
        while found is None:
            try:
                found = self._made(values)
            except NeedsValues as problem:
                self._learn(problem.name, values)
        return found

    def prepare(self, values: Values) -> Step | None:
        """The step for these shapes and types alone; None where the values of inputs decide."""
        try:
            return self._made(values)
        except NeedsValues:
            return None

    def _made(self, values: Values) -> Step:
        self.check_files()
        signatures, constants = self._signatures(values)
        maker = _Maker(self, values, constants)
        return signatures.find_or_make(self._extents(values), Maker(maker.trace, maker.compile))

    def _signatures(self, values: Values) -> tuple[Signatures[Imported, Step], ConstantValues]:
        """The signatures that may hold the step of a call, and the constant values that they are for."""
        with self._lock:
            key, known = self._key(values, self._constants), self._constants
            if known.deciding and key not in self._variants and len(self._variants) > MOST_VARIANTS:
                # values that differ from call to call are no part of a signature
                self._constants = ConstantValues((), known.unknowable | set(known.deciding))
                key = self._key(values, self._constants)
            if key not in self._variants:
                ranks, names = self._layout(values)
                steps = self.context.steps
                self._variants[key] = Signatures(None, steps, passing=(NeedsValues,), ranks=ranks, names=names)
            return self._variants[key], self._constants

    def _layout(self, values: Values) -> tuple[list[int], list[str | None]]:
        """The ranks of all arrays and, where the model declares every shape, the names of their extents."""
        shapes = [extents_of(values[name]) for name in self.needs]
        if any(len(self._declared.get(name, ())) != len(shape) for name, shape in zip(self.needs, shapes, strict=True)):
            return [len(shape) for shape in shapes], []
        declared = [extent for name in self.needs for extent in self._declared.get(name, ())]
        return [len(shape) for shape in shapes], [FIXED if isinstance(extent, int) else extent for extent in declared]

    def _learn(self, name: str, values: Values) -> None:
        with self._lock:
            known = self._constants
            if np.size(values[name]) > MOST_VALUE_ELEMENTS:
                self._constants = replace(known, unknowable=known.unknowable | {name})
            elif name not in known.deciding:
                self._constants = replace(known, deciding=(*known.deciding, name))

    def _key(self, values: Values, constants: ConstantValues) -> Any:
        return (tuple([kind(values[name]) for name in self.needs]), *[values[name].tobytes() for name in constants.deciding])

    def _extents(self, values: Values) -> Extents:
        return tuple([extent for name in self.needs for extent in extents_of(values[name])])

    def variants(self) -> tuple[tuple[str, ...], list[tuple[Any, tuple[bytes, ...], Signatures[Imported, Step]]]]:
        """The values that are part of signatures, and the signatures by the kinds of all values and the bytes of these."""
        with self._lock:
            deciding, variants = self._constants.deciding, [*self._variants.items()]
        return deciding, [(key[0], key[1:], signatures) for key, signatures in variants if len(key) == 1 + len(deciding)]

    def remember(self, step: Step, values: Values) -> None:
        """Note that a step was made, with values of the call that asked for it: elements only where they decide."""
        kept = without_most_elements(values, self.needs, step.constants)
        with self._lock:
            self._samples[step] = kept

    def samples(self) -> list[tuple[Step, Values]]:
        """The steps of late, each with values of the call that asked for it, which take no memory."""
        with self._lock:
            return [*self._samples.items()]

    def first_stage(self, values: Values) -> Stage:
        """The stage for these shapes alone; nothing is compiled."""
        self.check_files()
        asked = self.import_request(values, self._extents(values), self._constants)
        while True:
            try:
                return _imported(asked)
            except NeedsValues as problem:
                asked = replace(asked, unknowable=asked.unknowable | {problem.name})

    def graph_of(self, step: Step, values: Values) -> Graph:
        """The graph of a step again, with its constants, which compiled steps do not keep."""
        self.check_files()
        asked = self.import_request(values, self._extents(values), step.constants)
        graph = _imported(replace(asked, given=step.stage.given)).graph
        if graph is None:
            raise InternalError(f"a stage of {self.name} has no graph any more")
        return graph

    def import_request(self, values: Values, extents: Sequence[Extent], known: ConstantValues) -> ImportRequest:
        """What the importer is asked, where all arrays have these extents."""
        given, constants = self.given(values, extents, known)
        return ImportRequest(self.name, self.nodes, given, {**self.known, **constants}, self.wanted, known.unknowable)

    def given(
        self, values: Values, extents: Sequence[Extent], known: ConstantValues
    ) -> tuple[dict[str, Given], dict[str, Array]]:
        """What is known of the values of a call, and those that decide."""
        rest = iter(extents)
        given = {name: _given_of(values[name], [next(rest) for _ in extents_of(values[name])]) for name in self.needs}
        constants = {name: np.array(values[name]) for name in known.deciding}
        return {name: value for name, value in given.items() if name not in constants}, constants


@record
class Imported:
    """A stage, and what is known of its code."""

    stage: Stage
    question: str = ""
    """By which it is found again; empty where it is not kept."""
    artifact: Artifact | None = None
    """Its code, where it was found: the graph of the stage has no operators then."""


@record
class _Maker:
    """Makes the steps of a remainder for the values of a call."""

    remaining: RemainingSubgraph
    values: Values
    constants: ConstantValues

    def trace(self, extents: Sequence[Extent]) -> Imported:
        """The stage for these extents: one that was compiled before, or what `_stage` imports."""
        remaining, options = self.remaining, self.remaining.context.options
        if remaining.kept is None or options.store() is None:
            return Imported(with_planned_matrices(self._stage, extents))
        given, decided = remaining.given(self.values, extents, self.constants)
        question = remaining.kept.question(given, decided, self.constants.unknowable, options)
        found = remaining.kept.find(question, options)
        if found is not None:
            return Imported(found[0], question, found[1])
        with self._refusals_kept(question):
            return Imported(with_planned_matrices(self._stage, extents), question)

    @contextmanager
    def _refusals_kept(self, question: str) -> Iterator[None]:
        """Keep what becomes clear of extents inside, so that nobody tries them again."""
        try:
            yield
        except Undecided as problem:
            if self.remaining.kept is not None and question:
                self.remaining.kept.refuse(question, problem, self.remaining.context.options)
            raise

    def _stage(self, extents: Sequence[Extent]) -> Stage:
        """The stage for these extents. Raises `UnsupportedOperation` where lengths would cost compiled operators.

        A join of lengths (a cache and its new rows) is done by NumPy, and what follows is a stage of its own: else every step of
        decoding were compiled.
        """
        stage = _imported(self.remaining.import_request(self.values, extents, self.constants))
        if _apart(stage) and any(isinstance(extent, SymbolicExtent) for extent in extents):
            fixed = _imported(self._import_request())
            if _apart(stage) > _apart(fixed) and any(node.operator != "Concat" for node in stage.as_numpy):
                refused = stage.refused.values()
                cuts = tuple(cut for problem in refused if isinstance(problem, Undecided) for cut in problem.cuts)
                why = "; ".join(dict.fromkeys(problem.message for problem in refused))
                text = f"{self.remaining.name} is not compiled as a whole with dynamic dimensions"
                raise Undecided(text, why=why).with_cuts(cuts)
        return stage

    def compile(self, imported: Imported) -> Step:
        """The step of a stage, which is remembered with the values of its call."""
        with preparing(self.remaining.name), collector_waits(), self._refusals_kept(imported.question):
            step = self._step(imported)
        self.remaining.remember(step, self.values)
        return step

    def _import_request(self) -> ImportRequest:
        """With the extents of the call."""
        return self.remaining.import_request(self.values, self.remaining._extents(self.values), self.constants)

    def _step(self, imported: Imported) -> Step:
        """Where a graph of fixed extents cannot be planned, all of it runs as NumPy."""
        stage = imported.stage
        try:
            return Step(self.remaining, imported, self.constants, self.values)
        except (PlanningError, UnsupportedOperation, DTypeError) as problem:
            if stage.graph is None or any(isinstance(e, SymbolicExtent) for t in stage.graph.tensors for e in t.shape):
                raise
            _log.warning("%s is not compiled: %s", self.remaining.name, problem)
            unplanned = _imported(self._import_request(), lambda operator, tensors: "its graph has no plan")
            return Step(self.remaining, Imported(unplanned), self.constants, self.values)


class Step(RunningStep):
    """A stage that was imported and compiled for the values of a call."""

    following: RemainingSubgraph | None

    def __init__(self, remaining: RemainingSubgraph, imported: Imported, constants: ConstantValues, values: Values) -> None:
        """`values` are of the call that asked for it."""
        self.remaining, self.constants, self.is_of_values = remaining, constants, bool(constants.deciding)
        context = remaining.context
        self.stage = stage = imported.stage
        self.outline = Outline(stage.inputs, stage.outputs, dict(stage.same), dict(stage.nodes), stage.places())
        self.compiled = None
        self.plans: tuple[Plan, ...] = ()
        """Of the chains of its graph, once a profile asked for them; they hold no constants."""
        self.called: tuple[dict[str, int], tuple[Plan, ...]] | None = None
        """Dimensions of the last call with a profile, and the plans at its extents."""
        if stage.graph is not None:
            try:
                self.compiled = self._compiled(stage.graph, imported, without_most_elements(values, remaining.needs, constants))
            except PositionError as problem:  # of constants
                raise stage.placed(problem) from None
            context.compiled.append(stage.graph.name)
        self.runners: list[NodeRunner] = []
        self.known = {name: frozen(value) for name, value in stage.known.items()}
        known = {name: value for name, value in stage.known.items() if not isinstance(value, Symbolic)}
        if stage.as_numpy or stage.rest:
            known = {**remaining.known, **known}
        for node in stage.as_numpy:
            known.update(self._constant_results(node, known))
        self.following = _following(remaining, stage, known) if stage.rest else None
        remaining.check_files()
        for runner in self.runners:
            context.report_numpy(runner.node, stage.refused.get(runner.node.label))

    def _compiled(self, graph: Graph, imported: Imported, sample: Values) -> Compiled:
        """The library of the graph, which is generated unless it was found; what others would do again is kept."""
        remaining, options, artifact = self.remaining, self.remaining.context.options, imported.artifact

        def whole() -> Graph:
            if imported.artifact is not None:
                return remaining.graph_of(self, sample)
            remaining.check_files()
            return graph

        if options.is_built_only:
            return Compiled(*options.built(graph))
        told = graph
        if artifact is None:
            told, artifact = options.generated(graph)
        compiled = Compiled(*options.loaded(told, artifact, copies=True, whole=whole))
        if imported.artifact is None and remaining.kept is not None and imported.question:
            remaining.kept.keep(imported.question, self.stage, told, options)
        return compiled

    def _constant_results(self, node: Node, known: Values) -> Values:
        """What a node makes of constants alone, now; nothing of another node, which runs in every call."""
        runner = node_runner(node, self.remaining.context)
        if not node.reads() <= known.keys() or _is_random(node):
            self.runners.append(runner)
            return {}
        made = dict(zip(node.outputs, runner.run(known), strict=True))
        self.known.update((name, frozen(value)) for name, value in made.items())
        return made


def node_runner(node: Node, context: SessionContext) -> NodeRunner:
    """A node that runs as NumPy; its graphs are compiled when they are first run."""
    (kept,) = [node] if context.mapped else held_nodes([node])
    return NodeRunner(node, {name: _inner(f"{node.operator}_{name}", body, context) for name, body in kept.bodies.items()})


def _inner(name: str, body: Body, context: SessionContext) -> Inner:
    """A graph inside a node."""
    inputs, outputs = (tuple(value.unique for value in values) for values in (body.inputs, body.outputs))

    @cache
    def remaining() -> RemainingSubgraph:
        return RemainingSubgraph(name, lambda: (body.nodes, body.constants), outputs, context, check_files=_check_of(context))

    return Inner(f"{name} {body.name!r}", inputs, tuple(sorted(body.captured)), outputs, remaining)


def _given_of(value: Any, extents: Sequence[Extent]) -> Given:
    """What the importer is told of a value whose extents are these."""
    is_tensor = isinstance(value, np.ndarray) and not value.dtype.hasobject and value.dtype.kind not in "US"
    return Given(tuple(extents), value.dtype.name) if is_tensor else Given()


def _following(remaining: RemainingSubgraph, stage: Stage, known: Mapping[str, Any]) -> RemainingSubgraph:
    """What comes behind a stage: compiled when a call has shown its shapes, with constants that nobody may change until then."""
    context, nodes = remaining.context, stage.rest
    made = {name for node in nodes for name in node.outputs}
    wanted = [name for name in remaining.wanted if name in made]
    if not context.mapped:
        read = {name for node in nodes for name in node.reads()} | set(wanted)
        nodes, known = held_nodes(nodes), held_constants({name: value for name, value in known.items() if name in read})
    return RemainingSubgraph(remaining.name, lambda: (nodes, known), wanted, context, check_files=_check_of(context))


def _imported(asked: ImportRequest, obstacle: Obstacle | None = None) -> Stage:
    """The stage with which nodes begin; what generated code cannot compute stays apart, or what meets another obstacle."""
    from tilewright.frontend.onnx.stage import import_stage
    from tilewright.plan import supported

    return import_stage(asked, obstacle or supported.obstacle)


def _check_of(context: SessionContext) -> Callable[[], None]:
    """Of what is not compiled when the session is made."""
    return context.check_files if context.mapped else lambda: None


def _is_random(node: Node) -> bool:
    """Whether every run of a node, or of a graph inside it, may give other results."""
    is_drawn = node.definition is not None and node.definition.is_random
    return is_drawn or any(_is_random(inner) for body in node.bodies.values() for inner in body.nodes)


def _apart(stage: Stage) -> int:
    return len(stage.as_numpy) + len(stage.rest)
