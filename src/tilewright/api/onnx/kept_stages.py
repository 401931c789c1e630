"""Stages of models that were compiled before, on disk: a later process of the same model has neither front end nor planner.

A stage is found by the bytes of its model, the shapes and types that it was imported for, and all that decides a plan. Its
constants are places in the files of the model; those that the front end made of others are kept with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from tilewright.api.building import Options
from tilewright.artifact import Artifact
from tilewright.dtypes import dtype_named
from tilewright.errors import Undecided
from tilewright.frontend.onnx.files import Content
from tilewright.frontend.onnx.stage_types import Given, Stage
from tilewright.graph import data_format
from tilewright.graph.data_format import ARRAY_TYPES, Unreadable
from tilewright.graph.types import Constant, Extent, Graph
from tilewright.records import record
from tilewright.runtime import artifacts

MOST_KEPT_BYTES = 4 << 20
"""Of constants that lie in no file of the model: a stage with more is imported again."""


@record
class Place:
    """Where the elements of a constant lie, row-major."""

    file: str
    """Beside the model; empty in the model itself."""
    begin: int
    dtype: str
    shape: tuple[int, ...]


@record
class KeptStage:
    """A stage that is a graph and nothing else. The graph is known by what calls and recipes of constants ask of it."""

    name: str
    graph_inputs: tuple[str, ...]
    graph_outputs: tuple[str, ...]
    constants: tuple[tuple[str, Place | np.ndarray], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    same: Mapping[str, str]
    known: Mapping[str, np.ndarray]
    given: Mapping[str, Given]
    nodes: Mapping[str, str]
    operator_names: Mapping[str, str]
    tensor_names: Mapping[str, str]
    artifact: str
    """The name of its code in the store."""

    def stage(self, content: Content) -> Stage:
        """As it was imported, of a model with this content."""
        constants = tuple((name, Constant(_array(where, content))) for name, where in self.constants)
        graph = Graph(self.name, (), (), self.graph_inputs, self.graph_outputs, constants)
        names = (self.nodes, self.operator_names, self.tensor_names)
        return Stage(graph, self.inputs, self.outputs, self.same, self.known, (), (), self.given, *names)


@record
class KeptRefusal:
    """An `Undecided` question about the extents of a stage: who asks with other ones finds a stage."""

    message: str
    where: str
    why: str
    hint: str
    cuts: tuple[tuple[str, int], ...]
    equal: tuple[tuple[Extent, Extent], ...]
    numbers: tuple[str, ...]

    def problem(self) -> Undecided:
        """The error."""
        problem = Undecided(self.message, where=self.where, why=self.why, hint=self.hint)
        return problem.with_cuts(self.cuts).with_equal(self.equal).with_numbers(self.numbers)


@record
class KeptAnswer:
    """What is on disk for a question."""

    answer: KeptStage | KeptRefusal


@record
class KeptModel:
    """The stages of a model with this content, where `key` tells its bytes and which nodes of it are meant."""

    key: str
    content: Content

    def question(
        self, given: Mapping[str, Given], decided: Mapping[str, Any], unknowable: Iterable[str], options: Options
    ) -> str:
        """What a stage is found by: what is known of inputs, the values of those that are decided, and how graphs are planned."""
        values = [(name, value.dtype.str, value.shape, value.tobytes()) for name, value in sorted(decided.items())]
        planned = artifacts.choices(options.machine, options.fuse, options.precision)
        return "\0".join((self.key, repr(sorted(given.items())), repr(values), repr(sorted(unknowable)), planned))

    def find(self, question: str, options: Options) -> tuple[Stage, Artifact] | None:
        """The stage of a question with its code, if both were kept. Raises `Undecided` as the front end or the planner did."""
        store = options.store()
        kept = None if store is None else store.find(question)
        if store is None or kept is None:
            return None
        try:
            found = data_format.decode(kept, KeptAnswer).answer
        except Unreadable:
            return None
        if isinstance(found, KeptRefusal):
            raise found.problem()
        artifact = artifacts.decode(store.named(found.artifact) or b"")
        return None if artifact is None else (found.stage(self.content), artifact)

    def refuse(self, question: str, problem: Undecided, options: Options) -> None:
        """Keep that there is no stage for these extents, and what would help."""
        told = (problem.message, problem.where, problem.why, problem.hint)
        self._answer(question, KeptRefusal(*told, problem.cuts, problem.equal, problem.numbers), options)

    def _answer(self, question: str, answer: KeptStage | KeptRefusal, options: Options) -> None:
        store = options.store()
        if store is not None:
            with suppress(Unreadable):
                store.keep(question, data_format.encode(KeptAnswer(answer), KeptAnswer))

    def keep(self, question: str, stage: Stage, graph: Graph, options: Options) -> None:
        """Keep a stage whose code was made of `graph`, where it is a graph and nothing else."""
        store, is_whole = options.store(), not (stage.as_numpy or stage.rest)
        if store is None or not is_whole or not all(isinstance(value, np.ndarray) for value in stage.known.values()):
            return
        constants = tuple((name, _where(constant.array, self.content)) for name, constant in graph.constants)
        kept_bytes = sum(where.nbytes for _, where in (*constants, *stage.known.items()) if isinstance(where, np.ndarray))
        if kept_bytes > MOST_KEPT_BYTES:
            return
        name = store.key(artifacts.request(graph, options.machine, options.fuse, options.precision))
        about = (stage.inputs, stage.outputs, stage.same, stage.known, stage.given)
        names = (stage.nodes, stage.operator_names, stage.tensor_names)
        kept = KeptStage(graph.name, graph.inputs, graph.outputs, constants, *about, *names, name)
        self._answer(question, kept, options)


def _where(array: np.ndarray, content: Content) -> Place | np.ndarray:
    """The place of an array in a file, or the array."""
    if array.flags.c_contiguous and array.dtype.name in ARRAY_TYPES and array.size:
        for file, whole in (("", content.whole), *content.files.contents.items()):
            begin = -1 if not whole else array.ctypes.data - np.frombuffer(whole, np.uint8).ctypes.data
            if begin >= 0 and begin + array.nbytes <= len(whole):
                return Place(file, begin, array.dtype.name, array.shape)
    return array


def _array(where: Place | np.ndarray, content: Content) -> np.ndarray:
    if isinstance(where, np.ndarray):
        return where
    whole = content.files.contents[where.file] if where.file else content.whole
    dtype = dtype_named(where.dtype)
    count = int(np.prod(where.shape, dtype=np.int64))
    return np.frombuffer(whole, dtype, count, where.begin).reshape(where.shape)
