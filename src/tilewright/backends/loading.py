"""Artifacts become what runs, on the backend of their machine, with the constants that they ask for.

Artifacts that report NaN and infinities come with a way to compute the same results where they have reported some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from tilewright.artifact import Artifact
from tilewright.backends.backend import Runnable
from tilewright.backends.checked import Checked, Loaded
from tilewright.backends.registry import for_machine
from tilewright.errors import TilewrightError
from tilewright.graph.constant_recipe import extreme_constants
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.runtime import workers
from tilewright.runtime.constants import release_pages, residents

if TYPE_CHECKING:
    from tilewright.backends.backend import Array
    from tilewright.plan.types import ModelPlan


def check_runs_here(artifact: Artifact, machine: Machine) -> None:
    """Raise `TilewrightError` where this host cannot run what was generated for a machine."""
    backend = for_machine(machine)
    if lacking := backend.lacking(artifact):
        here = f"lower(...).compile(runner={backend.runners[0]!r}) runs it here; " if backend.runners else ""
        raise TilewrightError(
            f"a kernel for {machine.name} cannot run on this machine",
            why=f"it lacks {', '.join(lacking)}",
            hint=f"{here}lower(...).explain() works for any target; leave out target= to compile for this machine",
        )


def check_runner(runner: str, machine: Machine) -> None:
    """Raise `TilewrightError` unless kernels for a machine have such a runner."""
    backend = for_machine(machine)
    if runner not in backend.runners:
        known = ", ".join(map(repr, backend.runners)) or "none"
        raise TilewrightError(
            f"runner={runner!r} does not run kernels for {machine.name}",
            where="compile",
            why=f"runners of the backend {backend.name}: {known}",
            hint="leave it out to run on the machine itself",
        )


def in_range(graph: Graph, generate: Callable[[Graph], Artifact]) -> tuple[Graph, Artifact]:
    """What is generated of a graph, and the graph; where it would combine constants of extreme sizes at load, what keeps these
    apart, and the graph that says so."""
    while True:
        artifact = generate(graph)
        extreme = extreme_constants(artifact.recipe, graph.constants)
        new = [tensor.name for tensor in graph.tensors if tensor.name in extreme and not tensor.is_extreme]
        if not new:
            return graph, artifact
        tensors = tuple(replace(tensor, is_extreme=True) if tensor.name in new else tensor for tensor in graph.tensors)
        graph = replace(graph, tensors=tensors)


def load(
    artifact: Artifact,
    graph: Graph,
    machine: Machine,
    *,
    threads: int | None,
    copies: bool = False,
    strict: Callable[[], Artifact] | None = None,
    runner: str = "",
) -> Loaded:
    """Something to call, and the constants that calls pass behind the graph's inputs, in their order.

    `graph` is the graph that the artifact was generated from, or one like it with constants of the same shapes. With `copies`,
    the constants are copied to where calls read them fastest, while compilers run. `strict` generates an artifact of the graph
    that reports nothing: it computes the calls in which this artifact meets NaN or infinities; without it they raise
    `NotFiniteError`. `runner` is one of the backend's, "" for the machine itself. Raises what the backend raises.
    """
    loaded, read = _loaded(artifact, graph, machine, threads, copies, runner)
    if strict is None or not artifact.reports_not_finite:
        return loaded, read
    again = partial(load, graph=graph, machine=machine, threads=threads, copies=copies, runner=runner)
    return cast(Runnable, Checked(loaded, lambda: again(strict()), len(graph.inputs))), read


def build(artifact: Artifact, model_plan: ModelPlan, graph: Graph, strict: Callable[[], Loaded]) -> Loaded:
    """What `load` would load of a plan, to be saved: this host may lack what it needs. `strict` builds what reports nothing."""
    constants, read = _constants(artifact, graph)
    backend = for_machine(model_plan.machine)
    built = cast(Runnable, backend.build(artifact, backend.lower(model_plan), constants=constants))
    return (cast(Runnable, Checked(built, strict, len(graph.inputs))) if artifact.reports_not_finite else built), read


def _constants(artifact: Artifact, graph: Graph) -> tuple[Sequence[Array], tuple[Array, ...]]:
    """The constants that are packed, made when they are asked for, and those that calls pass behind the graph's inputs."""
    signature, made = artifact.signature, partial(artifact.recipe.made, graph.constants, forget=release_pages)
    read = made([slot.name for slot in signature.inputs[len(graph.inputs) :]])
    return made([slot.name for slot in signature.constants]), tuple(read)


def _loaded(artifact: Artifact, graph: Graph, machine: Machine, threads: int | None, copies: bool, runner: str) -> Loaded:
    constants, read = _constants(artifact, graph)
    backend = for_machine(machine)
    load = partial(backend.load, runner=runner) if runner else backend.load
    if not (copies and read):
        return load(artifact, constants=constants, threads=threads), read
    with workers.pool(1) as beside:
        copied = beside.submit(residents, read)
        return load(artifact, constants=constants, threads=threads), copied.result()
