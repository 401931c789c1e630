"""Building of graphs, for functions and sessions alike: plan, text and library under the options of a caller.

The planner is imported where it is needed: what the cache has is loaded without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tilewright import settings
from tilewright.api.logs import decided
from tilewright.artifact import Artifact
from tilewright.graph.types import Graph
from tilewright.machine.features import usable_features
from tilewright.machine.machine import Machine
from tilewright.precision import Precision
from tilewright.records import record
from tilewright.runtime import artifacts

if TYPE_CHECKING:
    from tilewright.backends.checked import Loaded
    from tilewright.plan.types import ModelPlan
    from tilewright.runtime.artifacts import PlanningStore

Generate: TypeAlias = Callable[[Graph], Artifact]


@record
class Options:
    """What decides how a graph is planned and run, as `tw.jit` and sessions take it."""

    machine: Machine
    fuse: bool | None = None
    """None where prices decide on fusion."""
    precision: Precision = Precision.FLOAT32
    threads: int | None = None
    is_foreign: bool = False
    """Whether the machine was named as target: it may not be this one."""
    is_saved: bool = False
    """Whether kernels are saved and never called: then they need no machine like the one that they are for."""
    runner: str = ""
    """What runs kernels in the place of the machine: one of its backend's runners."""

    def planned(self, graph: Graph) -> ModelPlan:
        """How a graph will run; no compiler is run."""
        from tilewright import compiler

        with artifacts.partitions(self.machine, self.precision) as kept:
            return decided(compiler.plan(graph, self.machine, fuse=self.fuse, precision=self.precision, answers=kept))

    def artifact(self, graph: Graph) -> Artifact:
        """The text of a graph: from the cache, if it is there, where neither planning nor generation is needed."""
        from tilewright.backends.registry import is_external

        if is_external(self.machine):
            return self._generated(graph)
        return artifacts.remembered(graph, self.machine, self.fuse, lambda: self._generated(graph), self.precision)

    def store(self) -> PlanningStore | None:
        """Where results are kept; None where nothing tells that the code which made them has changed, or all are verified."""
        from tilewright.backends.registry import is_external

        is_kept = not (is_external(self.machine) or self.is_built_only) and settings.current().verify != "results"
        return artifacts.store(self.machine, self.precision) if is_kept else None

    def generated(self, graph: Graph, generate: Generate | None = None) -> tuple[Graph, Artifact]:
        """The text of a graph, and the graph with all that it was generated for. `generate` replaces `artifact`."""
        from tilewright.backends import loading

        return loading.in_range(graph, generate or self.artifact)

    def loaded(
        self,
        graph: Graph,
        artifact: Artifact,
        *,
        copies: bool = False,
        whole: Callable[[], Graph] | None = None,
    ) -> Loaded:
        """Something to call, and the constants that calls pass behind the inputs, as `loading.load` gives them.

        `whole` gives the graph with its operators where it has none: in a call that meets NaN or infinities, before constants of
        the graph are looked at again. Raises `ToolchainError` without a working compiler.
        """
        from tilewright.backends import loading

        if self.runner:
            loading.check_runner(self.runner, self.machine)
        elif self.is_foreign or self.machine.accelerator is not None:
            loading.check_runs_here(artifact, self.machine)

        def strict() -> Artifact:
            return replace(self, precision=Precision.STRICT).generated(graph if whole is None else whole())[1]

        loaded = loading.load(
            artifact, graph, self.machine, threads=self.threads, copies=copies, strict=strict, runner=self.runner
        )
        if settings.current().verify == "results":
            from tilewright.verification import verify_results

            verify_results(
                graph, self.machine, fuse=self.fuse, precision=self.precision, threads=self.threads, runner=self.runner
            )
        return loaded

    @property
    def is_built_only(self) -> bool:
        """Whether kernels are for another machine, and saved."""
        return self.is_saved and not self.machine.features <= usable_features()

    def built(self, graph: Graph) -> Loaded:
        """A kernel that is compiled and has its constants, but cannot be called."""
        from tilewright import compiler
        from tilewright.backends import loading

        plans: list[ModelPlan] = []

        def generate(graph: Graph) -> Artifact:
            plans.append(self.planned(graph))
            return compiler.generate(plans[-1])

        _, artifact = loading.in_range(graph, generate)
        return loading.build(artifact, plans[-1], graph, lambda: replace(self, precision=Precision.STRICT).built(graph))

    def _generated(self, graph: Graph) -> Artifact:
        from tilewright import compiler

        model_plan, artifact = compiler.plan_and_generate(graph, self.machine, fuse=self.fuse, precision=self.precision)
        decided(model_plan)
        return artifact
