"""A graph of AOTAutograd becomes a function of a list of arguments: compiled as a whole, in parts, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import torch
from torch.fx import GraphModule

from tilewright.api import torch_internals as internals
from tilewright.api.torch import counting
from tilewright.api.torch.counting import GraphReport
from tilewright.api.torch.library import Weights
from tilewright.api.torch.options import BackendOptions
from tilewright.api.torch.parts import Parts, in_parts, without_examples
from tilewright.api.torch.units import Unit, unit_of
from tilewright.api.torch.weights import Build, FrozenWeights, Run
from tilewright.errors import ToolchainError, UnsupportedOperation
from tilewright.frontend.torch.program import Recording, reason_of
from tilewright.interpreter_settings import collector_waits
from tilewright.progress import preparing
from tilewright.records import record

NAME = "torch_graph"
"""Of all graphs: equal ones share plans and code."""
PART_NAME = "torch_part"
"""Of all parts, for the same reason."""
_lock = threading.RLock()


Watcher: TypeAlias = Callable[[GraphReport, Sequence[Unit]], None]
"""Told of every graph, and of what is compiled of it."""
_watchers: list[Watcher] = []


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Inside, the watcher is told of graphs, whichever thread compiles them."""
    with _lock:
        _watchers.append(watcher)
    try:
        yield
    finally:
        with _lock:
            _watchers.remove(watcher)


def _tell(report: GraphReport, units: Sequence[Unit] = ()) -> None:
    counting.add(report)
    for watcher in _watchers:
        watcher(report, units)


class Compiled(Protocol):
    """Code that weights can be packed for."""

    @property
    def weights(self) -> tuple[str, ...]:
        """The placeholders that it reads as constants."""

    def bound(self, weights: Weights) -> Run:
        """What calls run."""


@record(eq=False)
class _Whole:
    """A graph that is one library."""

    unit: Unit

    @property
    def weights(self) -> tuple[str, ...]:
        return self.unit.library.weights

    def bound(self, weights: Weights) -> Run:
        return self.unit.bound(weights)


def compiled(module: GraphModule, weights: Weights, options: BackendOptions) -> Callable[[list[Any]], Any]:
    """What a graph does, for the list of its arguments, which it clears. `weights` are examples of what is frozen, by names.

    Raises `ToolchainError` without a working compiler; what cannot be compiled stays in eager mode, and is counted.
    """
    with _lock, internals.real_tensors(), torch.no_grad(), preparing("a graph of torch.compile"), collector_waits():
        held = {name: tensor.detach() for name, tensor in weights.items()}
        made = _compiled(module, held, options)
    if made is None:
        return in_eager_mode(module)
    if not made.weights:
        whole: Any = made.bound({})
        return internals.boxed(whole.__call__)
    places = {node.name: place for place, node in enumerate(n for n in module.graph.nodes if n.op == "placeholder")}
    return internals.boxed(FrozenWeights([places[name] for name in made.weights], _build(made, made.weights)).__call__)


def in_eager_mode(module: GraphModule) -> Callable[[list[Any]], Any]:
    """The same calls, by torch."""
    copied = without_examples(module)

    def run(arguments: list[Any]) -> Any:
        given = arguments[:]
        arguments.clear()
        return copied.forward(*given)

    return internals.boxed(run)


def _build(made: Compiled, names: Sequence[str]) -> Build:
    """Packs weights, given in the order of these names; those that code cannot be loaded for become inputs."""

    def build(tensors: Sequence[torch.Tensor | None]) -> Run:
        weights = {n: t.detach() for n, t in zip(names, tensors, strict=True) if t is not None}
        try:
            run = made.bound(weights)
        except ToolchainError:
            raise
        except Exception as problem:  # of these values
            if not weights:
                raise
            counting.LOGGER.warning("weights of %s are inputs: %s", NAME, reason_of(problem))
            run = made.bound({})
        return run

    return build


def _compiled(module: GraphModule, weights: Weights, options: BackendOptions) -> Compiled | None:
    """What is compiled of a graph; None where it stays in eager mode."""
    recording = Recording.of(module, weights, NAME)
    eager, why = counting.eager_nodes(recording.refused), ""
    try:
        return _whole(module, recording, weights, options)
    except ToolchainError:
        raise
    except Exception as problem:
        why = "" if eager else reason_of(problem)
    try:
        return _parts(module, recording, weights, options, why)
    except ToolchainError:
        raise
    except Exception as problem:
        _tell(GraphReport(NAME, 0, 0, eager, "; ".join(filter(None, (why, reason_of(problem))))))
        return None


def _whole(module: GraphModule, recording: Recording, weights: Weights, options: BackendOptions) -> _Whole:
    """All of a graph as one library: what was refused is a view that a call makes, or nobody needs it."""
    if any(node.is_impure() for node in recording.refused):
        raise UnsupportedOperation("a graph with effects")
    whole = _Whole(unit_of(module, recording, weights, options))
    _tell(GraphReport(NAME, whole.unit.operators, 1, ()), [whole.unit])
    return whole


def _parts(module: GraphModule, recording: Recording, weights: Weights, options: BackendOptions, why: str) -> Parts:
    """What can be compiled of a graph. `why` says why not all of it, where that has another reason than calls."""
    names = {node.name for node in recording.refused}
    parts, others = in_parts(module, names, weights, options, PART_NAME)
    eager = (*counting.eager_nodes(recording.refused), *others)
    _tell(GraphReport(NAME, parts.operators, len(parts.parts), eager, why), [part.unit for part in parts.parts.values()])
    return parts
