"""Plans of graphs for machines by name: through the same entrances as a user's program, and never from a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest import mock

import tilewright as tw
from tilewright import compiler
from tilewright.machine import Machine

Planned = Callable[[str], list[Any]]
"""The plans of a graph for the machine of that name: one, or none where nothing is compiled."""

SUBJECTS = (
    "models",
    "node_cases",
    "table_iv",
    "attention",
    "layers",
    "decoding",
    "rows",
    "views",
    "convolutions",
    "gathers",
    "scalar_loops",
    "random_graphs",
)
"""The modules of `graphs`, those that take longest first."""


def graphs_of(subject: str) -> Mapping[str, Planned]:
    """The graphs of a subject by name."""
    found: Mapping[str, Planned] = import_module(f"tests.replay.graphs.{subject}").graphs()
    return found


def traced(function: Callable[..., Any], *operands: Any, fuse: bool | None = None) -> Planned:
    """Of a function of arrays: operands are shapes of float32, or specifications."""
    given = [tw.spec(one) if isinstance(one, tuple) else one for one in operands]
    return lambda machine: [tw.jit(function, target=machine, fuse=fuse).lower(*given).model_plan]


def built(make: Callable[[], Any]) -> Planned:
    """Of a graph."""
    return lambda machine: [compiler.plan(make(), Machine.named(machine))]


def imported(make: Callable[[], Any], **shapes: Any) -> Planned:
    """Of the first stage of an ONNX model (a `ModelProto` or a path); `shapes` as `InferenceSession.explain` takes them."""

    def plans(machine: str) -> list[Any]:
        from tilewright.onnx import InferenceSession

        with _kept() as kept:
            InferenceSession(make(), target=machine, prepare=False).explain(**shapes)
        return kept

    return plans


@contextmanager
def _kept() -> Iterator[list[Any]]:
    """All that is planned meanwhile."""
    kept: list[Any] = []
    plan = compiler.plan

    def keeping(*arguments: Any, **options: Any) -> Any:
        kept.append(plan(*arguments, **options))
        return kept[-1]

    with mock.patch.object(compiler, "plan", keeping):
        yield kept
