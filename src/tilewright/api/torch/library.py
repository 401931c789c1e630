"""The code of a recorded program: planned and compiled once, whatever the weights are, which it is given when it is loaded.

Nothing here holds a weight: kernels read some of them where torch has them, while those who call hold them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from tilewright.api.building import Options
from tilewright.api.torch.memory import borrowed
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.frontend.torch.program import Program
from tilewright.graph.constant_values import decide, is_mask
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.types import Constant, Graph, SymbolicExtent
from tilewright.runtime.compilation import libraries
from tilewright.runtime.store import cache

if TYPE_CHECKING:
    from tilewright.backends.checked import Loaded
    from tilewright.plan.types import ModelPlan

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Weights: TypeAlias = Mapping[str, torch.Tensor]
"""Frozen weights, by the names of placeholders; the others are inputs."""
MOST_ARTIFACTS = 4
"""Of a program: of other sets of frozen weights, and of masks and few integers, whose values code may hold."""


class Library:
    """What one program became. Safe from several threads."""

    def __init__(self, program: Program, options: Options) -> None:
        self._program = replace(program, graph=program.with_constants(_unknown(program)))
        self._options = options
        self._artifacts: dict[str, Artifact] = {}
        self._lock = threading.Lock()
        self.packed_bytes = self.read_bytes = 0
        """Of weights when they were last packed: those in an order of their own, and those that calls read as they are."""

    @property
    def weights(self) -> tuple[str, ...]:
        """The placeholders that its constants are, if they are frozen."""
        return tuple(dict.fromkeys(self._program.constants.values()))

    def inputs(self, weights: Weights) -> tuple[str, ...]:
        """The placeholders that its graph reads as inputs, where these weights are frozen."""
        return (*self._program.inputs, *(name for name in self.weights if name not in weights))

    def compile(self, weights: Weights) -> None:
        """Plan it and compile it, without packing anything. Raises what planning and compilers raise."""
        _, artifact = loading.in_range(self._graph(weights), self._artifact)
        if not self._options.is_built_only:
            libraries.available(artifact, cache.default(), artifact.entry.exported)

    def loaded(self, weights: Weights, threads: int) -> Loaded:
        """Something to call, with these weights packed by so many threads, and the constants that its calls pass."""
        graph, artifact = loading.in_range(self._graph(weights), self._artifact)
        loaded = replace(self._options, threads=threads).loaded(graph, artifact)
        self.packed_bytes = loaded[0].memory_stats().constant_bytes
        self.read_bytes = sum(array.nbytes for array in loaded[1])
        return loaded

    def planned(self) -> ModelPlan:
        """How its graph runs, where all weights are frozen."""
        return self._options.planned(_without_values(self._program.graph, self._program.constants))

    @property
    def frozen_bytes(self) -> int:
        """Of the weights that it reads as constants."""
        constants = dict(self._program.graph.constants)
        return sum(constants[constant].array.nbytes for constant in self._program.constants)

    @property
    def dimensions(self) -> tuple[SymbolicExtent, ...]:
        """The dimensions of its inputs that calls tell."""
        graph = self._program.graph
        return tuple(dimensions_of(extent for name in graph.inputs for extent in graph.tensor(name).shape).values())

    def _graph(self, weights: Weights) -> Graph:
        """The graph with these weights as constants, and with those left out as inputs."""
        program = self._program
        known = {name: borrowed(weights[name]) for name in self.weights if name in weights}
        graph = program.with_constants({**_unknown(program), **known})
        moved = {constant: name for constant, name in program.constants.items() if name not in weights}
        if not moved:
            return graph
        tensors = tuple(replace(t, magnitudes=None, entries=None) if t.name in moved else t for t in graph.tensors)
        constants = tuple(pair for pair in graph.constants if pair[0] not in moved)
        first = {name: constant for constant, name in reversed(moved.items())}
        added = tuple(first[name] for name in self.weights if name in first)
        return replace(graph, tensors=tensors, constants=constants, inputs=(*graph.inputs, *added))

    def _artifact(self, graph: Graph) -> Artifact:
        graph = _without_values(graph, self._program.constants)
        with self._lock:
            if graph.digest not in self._artifacts:
                if len(self._artifacts) >= MOST_ARTIFACTS:
                    self._artifacts.clear()
                self._artifacts[graph.digest] = self._options.artifact(graph)
            return self._artifacts[graph.digest]


def _without_values(graph: Graph, weights: Mapping[str, str]) -> Graph:
    """The graph as it is planned: nothing is decided by weights, so that others need no other code.

    Each has memory of its own here, which nobody touches: constants are told apart by their places, and weights may share memory
    at one time and not at another.
    """
    scales = _scales(graph) & weights.keys()
    values = dict(graph.constants)
    constants = (
        (name, _without_value(value) if name in weights and name not in scales else value) for name, value in values.items()
    )
    tensors = (replace(t, entries=tuple(values[t.name].array.ravel().tolist())) if t.name in scales else t for t in graph.tensors)
    return replace(graph, constants=tuple(constants), tensors=tuple(tensors))


def _scales(graph: Graph) -> set[str]:
    """The scales and zero points of dequantised bytes: products of bytes are made for their values."""
    sources = {o.write.tensor: o.reads[0].tensor for o in graph.operators if len(o.reads) == 1}
    found = set()
    for operator in graph.operators:
        for access in operator.reads[1:] if operator.kind == "dequantize" else ():
            name = access.tensor
            while name in sources:
                name = sources[name]
            found.add(name)
    return found


def _without_value(constant: Constant) -> Constant:
    array = constant.array
    return constant if _decides(array) else Constant(np.zeros(array.shape, array.dtype), has_values=False)


def _decides(array: Array) -> bool:
    """Whether code is generated for the values: masks, which kernels compute from positions then, and few integers."""
    if array.dtype.kind == "f":
        return is_mask(array) and bool(np.isneginf(array).any())
    return array.dtype.kind in "biu" and decide(array)


def _unknown(program: Program) -> dict[str, Array]:
    """Arrays that stand for weights: of their shapes and types, without memory."""
    graph = program.graph
    return {
        name: np.broadcast_to(np.zeros((), value.array.dtype), value.array.shape)
        for constant, value in graph.constants
        if (name := program.constants.get(constant)) is not None
    }
