"""A graph as something that runs: the seam between sessions and the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright import compiler, settings
from tilewright.api.logs import decided
from tilewright.backends import loading
from tilewright.backends.backend import Runnable
from tilewright.backends.registry import is_external
from tilewright.codegen.artifact import Artifact
from tilewright.frontend.onnx.model import Array
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.plan.types import ModelPlan
from tilewright.precision import Precision
from tilewright.runtime import artifacts


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """The library of a graph, and the constants that calls read as they are."""

    graph: Graph
    """Without the contents of its constants."""
    executable: Runnable
    constants: tuple[Array, ...]

    def run(self, inputs: Sequence[Array], targets: Sequence[Array | None] = ()) -> list[Array]:
        """The graph's outputs, in order, for its inputs. Raises `PositionError` for positions out of range.

        Each is written to its target, if there is one that it fits into as it is; targets may overlap inputs.
        """
        outputs = self.executable.new_outputs(inputs)
        if targets:
            outputs = [_place(output, target) for output, target in zip(outputs, targets, strict=True)]
        self.executable.run((*inputs, *self.constants), outputs)
        return outputs

    def profile(self, inputs: Sequence[Array]) -> tuple[list[Array], tuple[tuple[str, float], ...]]:
        """The same, with the name of every chain and the seconds that it took."""
        outputs = self.executable.new_outputs(inputs)
        given = [np.require(array, requirements=["C", "A"]) for array in inputs]
        return outputs, self.executable.profile((*given, *self.constants), outputs)


def _place(output: Array, target: Array | None) -> Array:
    """The target of an output where it has its shape, type and order, else the output."""
    if target is None or target.shape != output.shape or target.dtype != output.dtype:
        return output
    flags = target.flags
    return target if flags.c_contiguous and flags.aligned and flags.writeable else output


def planned(graph: Graph, machine: Machine, precision: Precision, fuse: bool | None) -> ModelPlan:
    """How a graph will run; no compiler is run."""
    return decided(compiler.plan(graph, machine, fuse=fuse, precision=precision, answers=artifacts.store(machine, precision)))


def compiled(
    graph: Graph,
    machine: Machine,
    precision: Precision,
    fuse: bool | None,
    threads: int | None,
    check_files: Callable[[], None] = lambda: None,
) -> Compiled:
    """Planned, compiled (or found in the cache) and loaded. Raises like `tw.jit`.

    `check_files` is asked before constants of the graph are looked at again, in a call that meets NaN or infinities.
    """
    artifact = loading.in_range(graph, lambda given: _artifact(given, machine, precision, fuse))

    def strict() -> Artifact:
        check_files()
        return _artifact(graph, machine, Precision.STRICT, fuse)

    executable, constants = loading.load(artifact, graph, machine, threads=threads, copies=True, strict=strict)
    if settings.current().verify:
        from tilewright.verification import verify_results

        verify_results(graph, machine, fuse=fuse, precision=precision, threads=threads)
    return Compiled(_without_constants(graph), executable, constants)


def _artifact(graph: Graph, machine: Machine, precision: Precision, fuse: bool | None) -> Artifact:
    """From the cache, if it is there."""
    if is_external(machine):
        return compiler.generate(planned(graph, machine, precision, fuse))
    return artifacts.remembered(graph, machine, fuse, lambda: _generated(graph, machine, precision, fuse), precision)


def _generated(graph: Graph, machine: Machine, precision: Precision, fuse: bool | None) -> Artifact:
    model_plan, artifact = compiler.plan_and_generate(graph, machine, fuse=fuse, precision=precision)
    decided(model_plan)
    return artifact


def _without_constants(graph: Graph) -> Graph:
    return replace(graph, constants=tuple((name, constant.without_values()) for name, constant in graph.constants))
