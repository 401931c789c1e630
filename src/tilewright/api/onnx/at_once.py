"""Calls of a session that are as earlier ones were: by exact shapes and types their arrays are passed to the library at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.api.onnx.running import RunningStep
from tilewright.frontend.onnx.model import Array, Declared
from tilewright.records import record
from tilewright.runtime import native

MOST_REMEMBERED = 4096
"""Exact shapes; beyond, all are forgotten."""


@record
class _Known:
    """What serves calls of a signature."""

    step: RunningStep
    order: tuple[int, ...] | None
    """The input of the session that each one of the graph is; None where all are, in order."""


class AtOnce:
    """The steps of whole models, where nothing else runs, by the signatures of calls. Safe from several threads."""

    def __init__(self, names: Sequence[str]) -> None:
        """The inputs' names, in order."""
        self._names = names
        self._known: dict[bytes | None, _Known] = {}

    def __call__(self, feeds: Mapping[str, Any]) -> list[Array] | None:
        """All outputs, new ones; None where anything needs more care."""
        if not self._known or type(feeds) is not dict or len(feeds) != len(self._names):
            return None
        try:
            arrays = tuple([feeds[name] for name in self._names])
        except KeyError:
            return None
        known = self._known.get(native.signature()(arrays))
        if known is None:
            return None
        return known.step.compute(arrays if known.order is None else tuple([arrays[number] for number in known.order]))

    def remember(self, step: RunningStep, inputs: Sequence[Declared], values: Mapping[str, Any], outputs: Sequence[str]) -> None:
        """Note that this step serves a call of these values, if it is all that runs; `outputs` are the unique names of all."""
        if not step.is_alone() or step.outline.outputs != tuple(outputs) or any(one.kind != "tensor" for one in inputs):
            return
        if len(values) != len(inputs) or not native.is_loaded():
            return
        signature = native.signature()(tuple([values[one.unique] for one in inputs]))
        if signature is not None:
            if len(self._known) >= MOST_REMEMBERED:
                self.forget()
            places = {one.unique: number for number, one in enumerate(inputs)}
            order = tuple(places[name] for name in step.outline.inputs)
            self._known[signature] = _Known(step, None if order == tuple(range(len(inputs))) else order)

    def forget(self) -> None:
        """Let all steps go."""
        self._known.clear()
