"""`tilewright compile`: a model becomes a package for one machine or several, without the machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tilewright.api.onnx.options import SessionOptions
from tilewright.api.onnx.saved_sessions import compiled_graphs, numpy_operators
from tilewright.api.onnx.saving_sessions import write_target
from tilewright.api.onnx.session import InferenceSession
from tilewright.api.onnx.steps import RemainingSubgraph
from tilewright.errors import TilewrightError
from tilewright.machine.features import usable_features
from tilewright.records import record
from tilewright.runtime.packages.layout import Content
from tilewright.runtime.packages.writing import PackageWriter

LARGEST_EXTENT = 4096
"""Of dimensions that nobody gave: kernels for all values up to it are made."""


@record
class CompiledTarget:
    """What a package has for a machine."""

    machine: str
    libraries: int
    numpy_operators: tuple[str, ...]
    predicted_seconds: float
    """Of one call on one thread, for the shapes that were asked about."""


@record
class Compilation:
    """A model, and what is compiled of it."""

    model: str
    shapes: Mapping[str, Any]
    """As for `InferenceSession.prepare`; dimensions that are missing are dynamic."""
    precision: str
    fuse: bool | None
    feeds: Callable[[InferenceSession], Mapping[str, Any]]
    """Inputs for a call that compiles what only a call shows."""
    planned_shapes: Callable[[InferenceSession], Mapping[str, Any]]
    """The shapes whose time is predicted."""

    def write(self, path: str | Path, targets: tuple[str, ...]) -> Iterator[CompiledTarget]:
        """Compile for machines of these names (none: for this one), one after the other, then write the package."""
        writer = PackageWriter(Content.SESSION)
        for target in targets or (None,):
            yield self._compiled(writer, path, target)
        writer.write(path)

    def _compiled(self, writer: PackageWriter, path: str | Path, target: str | None) -> CompiledTarget:
        options = SessionOptions()
        options.intra_op_num_threads = 1
        session = InferenceSession(
            self.model, options, target=target, prepare=False, precision=self.precision, fuse=self.fuse, mapped=True
        )
        session._context.is_saved = True
        session.prepare(**self._all_shapes(session))
        machine = session._context.options.machine
        if not all(_is_complete(part) for _, part in session._made()):
            if not machine.features <= usable_features():
                why = "its shapes depend on values that a call computes"
                hint = "compile it on such a machine, or there for several"
                raise TilewrightError(f"the model cannot be compiled for {machine.name} here", why=why, hint=hint)
            session.run(None, self.feeds(session))
        saved = session._saved(writer, session.explain())
        write_target(saved, writer, path, machine.name)
        predicted = sum(plan.predicted_seconds for plan in session.model_plans(**self.planned_shapes(session)))
        return CompiledTarget(machine.name, len(compiled_graphs(saved)), tuple(numpy_operators(saved)), predicted)

    def _all_shapes(self, session: InferenceSession) -> dict[str, Any]:
        whole = [declared for declared in session.get_inputs() if declared.name not in self.shapes]
        names = {extent for declared in whole for extent in declared.shape if isinstance(extent, str)}
        return {**dict.fromkeys(sorted(names), range(1, LARGEST_EXTENT + 1)), **self.shapes}


def _is_complete(part: RemainingSubgraph) -> bool:
    """Whether there is a step, and one behind each that has some behind it."""
    steps = [step for step, _ in part.samples()]
    return bool(steps) and all(step.following is None or _is_complete(step.following) for step in steps)
